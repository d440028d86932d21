/** Attacks that leave something for whoever comes next: start files, PATH, homes, caches. `next` is another session. */

import { type CommandAttack, python } from "#test/attacks/attack.ts";

const CLEAN = "the next session starts clean";

export const POISON: readonly CommandAttack[] = [
  {
    name: "start files of shells in the home directory",
    holds: CLEAN,
    script: `for name in .bashrc .bash_profile .profile .bash_logout .zshenv .inputrc .pythonrc; do echo 'echo BREACH ran' > ~/$name; done; mkdir -p ~/.config/fish; echo 'echo BREACH' > ~/.config/fish/config.fish`,
    next: `ls -A ~ | grep -qx -e .bashrc -e .profile && echo "BREACH files"; bash -lc true; bash -ic true </dev/null 2>/dev/null; sh -l -c true`,
  },
  {
    name: "settings of git, npm, pip, cargo and curl in the home directory",
    holds: CLEAN,
    script: `printf '[core]\\n\\tfsmonitor = echo BREACH >&2\\n\\thooksPath = /tmp/hooks\\n[alias]\\n\\tstatus = !echo BREACH\\n' > ~/.gitconfig
echo 'node-options=--require /tmp/evil.js' > ~/.npmrc; mkdir -p ~/.config/pip ~/.cargo ~/.config/git; echo '[global]' > ~/.config/pip/pip.conf; echo '[build]' > ~/.cargo/config.toml; echo '* filter=evil' > ~/.config/git/attributes; echo 'silent' > ~/.curlrc`,
    next: `for name in .gitconfig .npmrc .config/pip/pip.conf .cargo/config.toml .config/git/attributes .curlrc; do [ -e ~/$name ] && echo "BREACH $name"; done; git config --global -l 2>/dev/null | grep . && echo "BREACH configured"; true`,
  },
  {
    name: "programs where a later command looks for them (PATH, ~/.local/bin, site-packages, node_modules)",
    holds: CLEAN,
    script: `mkdir -p ~/.local/bin ~/bin ~/.node_modules/x ~/.node_libraries /tmp/node_modules/x; for name in git node sh python3 rg find; do for place in ~/.local/bin ~/bin /tmp /workspace; do printf '#!/bin/sh\\necho BREACH\\n' > $place/$name; chmod +x $place/$name; done; done
site=$(python3 -m site --user-site); mkdir -p "$site"; echo 'print("BREACH usercustomize")' > "$site/usercustomize.py"; echo 'import os; print("BREACH pth")' > "$site/evil.pth"; echo 'print("BREACH sitecustomize")' > /tmp/sitecustomize.py
rm -f /workspace/{git,node,sh,python3,rg,find}`,
    next: `cd /tmp; git --version | grep BREACH; node -e 'try { require("x"); console.log("BREACH module") } catch {}'; python3 -c pass; rg --version | grep BREACH; ls -A ~ /tmp | grep -x -e .local -e bin -e node_modules && echo "BREACH left"; true`,
  },
  {
    name: "caches of package managers",
    holds: "what the agent and the tests write into a cache is gone with their session",
    script: `for place in ~/.npm/_cacache ~/.cache/pip ~/.cache/yarn ~/.local/share/pnpm/store ~/.cargo/registry ~/go/pkg/mod ~/.m2/repository ~/.gradle/caches ~/.gem ~/.composer/cache ~/.cache/uv; do mkdir -p $place && echo poisoned > $place/agent-fix-poison; done; find / -name '_cacache' -not -path '/proc/*' -not -path "$HOME/*" -writable 2>/dev/null`,
    next: `find ~ /tmp /var /opt /run -name agent-fix-poison 2>/dev/null | grep . && echo "BREACH left"; true`,
  },
  {
    name: "variables that programs obey (BASH_ENV, LD_PRELOAD, NODE_OPTIONS, PYTHONSTARTUP, GIT_*)",
    holds: CLEAN,
    script: `printf 'echo BREACH\\n' > /tmp/env.sh; for name in BASH_ENV ENV LD_PRELOAD NODE_OPTIONS PYTHONSTARTUP GIT_EXTERNAL_DIFF PERL5OPT RUBYOPT; do echo "export $name=/tmp/env.sh" >> ~/.profile; done; export BASH_ENV=/tmp/env.sh; mkdir -p ~/.config/environment.d; echo 'BASH_ENV=/tmp/env.sh' > ~/.config/environment.d/x.conf`,
    next: `env | grep -E '^(BASH_ENV|ENV|LD_PRELOAD|NODE_OPTIONS|PYTHONSTARTUP|GIT_EXTERNAL_DIFF|PERL5OPT|RUBYOPT)=' && echo "BREACH set"; bash -c true; true`,
  },
  {
    name: "files where the next session's own would lie (links, pipes, directories without rights)",
    holds: "the next session opens and works",
    script: `rm -rf ~/.cache /tmp/*; mkfifo /tmp/pipe ~/pipe; ln -s "$OUTSIDE" ~/link; ln -s / /tmp/link; mkdir -p ~/closed/inner; chmod 0 ~/closed ; mkdir /tmp/closed; chmod 0 /tmp/closed; chmod 0 ~ /tmp 2>/dev/null; true`,
    next: `touch ~/x /tmp/x x && rm ~/x /tmp/x x || echo "BREACH it does not work"; ls -A ~ /tmp | grep -x -e pipe -e link -e closed && echo "BREACH left"; true`,
  },
  {
    name: "messages in queues, shared memory and semaphores of the system",
    holds: CLEAN,
    script: python(`
leave(lambda: call(29, 0x4147, 4096, 0o1666))
leave(lambda: call(68, 0x4147, 0o1666))
leave(lambda: call(240, b"agent-fix", os.O_CREAT | os.O_RDWR, 0o666, 0))
open("/dev/shm/agent-fix-left", "w").close()
`),
    next: python(`
attempt("shm", lambda: call(29, 0x4147, 4096, 0))
attempt("msg", lambda: call(68, 0x4147, 0))
attempt("mq", lambda: call(240, b"agent-fix", os.O_RDWR, 0, 0))
if os.path.exists("/dev/shm/agent-fix-left"): breach("left")
`),
  },
  {
    name: "a message to the next run in the timing or the state of the system (hostname, ns_last_pid, loop devices)",
    holds: "what can be written is gone with the session",
    script: `hostname pwned 2>/dev/null; { echo 9000 > /proc/sys/kernel/ns_last_pid; } 2>/dev/null; losetup -f 2>/dev/null | grep -q . && losetup /dev/loop0 /workspace/x 2>/dev/null && echo "BREACH loop"; true`,
    next: `[ "$(cat /proc/sys/kernel/hostname)" != pwned ] || echo "BREACH hostname"`,
  },
];
