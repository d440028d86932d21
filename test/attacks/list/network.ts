/** Attacks that connect: to services of the host, to the cloud's metadata, to names, by every kind of socket. */

import { type CommandAttack, python } from "#test/attacks/attack.ts";

const NOBODY = "no connection and no packet arrives";

export const NETWORK: readonly CommandAttack[] = [
  {
    name: "connect to a service on the host's 127.0.0.1 and ::1",
    holds: NOBODY,
    script: python(`
for family, address, port in ((socket.AF_INET, "127.0.0.1", "PORT"), (socket.AF_INET6, "::1", "PORT6"), (socket.AF_INET, "localhost", "PORT")):
    def connect():
        with socket.socket(family) as one:
            one.settimeout(2); one.connect((address, int(os.environ[port]))); return one.recv(100)
    attempt(address, connect)
`),
    springs: true,
  },
  {
    name: "send packets to the host by UDP",
    holds: NOBODY,
    script: python(`
for address in ("127.0.0.1", "255.255.255.255", "0.0.0.0"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            one.sendto(b"pwned", (address, int(os.environ["UDP"])))
        except OSError: pass
`),
    springs: true,
  },
  {
    name: "connect to a socket of the host in the abstract name space",
    holds: NOBODY,
    script: python(`
def connect():
    with socket.socket(socket.AF_UNIX) as one: one.connect("\\0" + os.environ["ABSTRACT"]); return one.recv(100)
attempt("abstract", connect)
`),
    springs: true,
  },
  {
    name: "connect to a socket of the host by its path",
    holds: NOBODY,
    script: python(`
for root in ("", "/proc/1/root", "/proc/self/root"):
    def connect():
        with socket.socket(socket.AF_UNIX) as one: one.connect(root + os.environ["SOCKET"]); return one.recv(100)
    attempt("path", connect)
`),
    springs: true,
  },
  {
    name: "ask the cloud's metadata service",
    holds: "nothing answers",
    script: python(`
for family, address in ((socket.AF_INET, "169.254.169.254"), (socket.AF_INET, "169.254.170.2"), (socket.AF_INET, "100.100.100.200"), (socket.AF_INET6, "fd00:ec2::254")):
    def connect():
        with socket.socket(family) as one: one.settimeout(1); one.connect((address, 80))
    attempt(address, connect)
`),
  },
  {
    name: "reach the internet, by address and by name",
    holds: "nothing answers, and no name is resolved",
    script: `getent hosts example.org && echo "BREACH name"
${python(`
for address, port in (("1.1.1.1", 53), ("8.8.8.8", 443), ("192.0.2.1", 80), ("10.0.0.1", 22), ("172.17.0.1", 2375)):
    def connect():
        with socket.socket(socket.AF_INET) as one: one.settimeout(1); one.connect((address, port))
    def ask():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(0.2)
            one.sendto(bytes.fromhex("123401000001000000000000076578616d706c65036f72670000010001"), (address, 53)); return one.recv(512)
    attempt(address, connect); attempt(address, ask)
`)}`,
  },
  {
    name: "use a kind of socket that no network name space holds (vsock)",
    holds: "such a socket cannot be made: it would reach the machine below this one",
    script: python(`
for name, family, kind in (("vsock", 40, socket.SOCK_STREAM), ("vsock", 40, socket.SOCK_DGRAM), ("alg", 38, socket.SOCK_SEQPACKET), ("bluetooth", 31, socket.SOCK_RAW), ("can", 29, socket.SOCK_RAW), ("tipc", 30, socket.SOCK_RDM), ("xdp", 44, socket.SOCK_RAW), ("rds", 21, socket.SOCK_SEQPACKET), ("qrtr", 42, socket.SOCK_DGRAM)):
    def make():
        socket.socket(family, kind).close(); return family
    attempt(name, make)
`),
  },
  {
    name: "send packets past the network's rules (raw and packet sockets, new routes and devices)",
    holds: "each is refused",
    script: `${python(`
for name, family, kind, protocol in (("raw", socket.AF_INET, socket.SOCK_RAW, 1), ("raw6", socket.AF_INET6, socket.SOCK_RAW, 58), ("packet", socket.AF_PACKET, socket.SOCK_RAW, 768)):
    def make():
        socket.socket(family, kind, protocol).close(); return family
    attempt(name, make)
attempt("tun", lambda: os.open("/dev/net/tun", os.O_RDWR))
`)}
ip link add dummy0 type dummy 2>/dev/null && echo "BREACH device"; ip route add default dev lo 2>/dev/null && echo "BREACH route"
ip -o link 2>/dev/null | grep -v ': lo' && echo "BREACH another device"; true`,
  },
  {
    name: "have git ask for a password of the host",
    fault: "D08",
    holds: "it fails at once, and no helper or token of the host is offered",
    script: `before=$(date +%s); git clone -q "http://127.0.0.1:$PORT/private.git" clone </dev/null >/dev/null 2>&1 && echo "BREACH cloned"
git ls-remote "https://github.com/o/private.git" </dev/null >/dev/null 2>&1 && echo "BREACH listed"
[ $(($(date +%s) - before)) -lt 8 ] || echo "BREACH it waited"; printf 'protocol=https\\nhost=github.com\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill 2>/dev/null | grep password`,
  },
  {
    name: "pass secrets on by the loopback of another run",
    holds: "two runs at the same time do not meet",
    script: `(echo > /dev/tcp/127.0.0.1/8125) 2>/dev/null && echo "BREACH something listens"
python3 -c 'import socket,time; s=socket.create_server(("127.0.0.1",8125)); open("/dev/shm/left","w").close(); open("/tmp/left","w").close()' && true`,
    next: `(echo > /dev/tcp/127.0.0.1/8125) 2>/dev/null && echo "BREACH met"; ls /dev/shm/left /tmp/left 2>/dev/null && echo "BREACH found"; ipcs -qms 2>/dev/null | grep 0x && echo "BREACH ipc"; true`,
  },
];
