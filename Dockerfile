# syntax=docker/dockerfile:1
# The server as an image. The flags it needs at run time, and why, are in docs/container.md.

# Any Debian-based image with Node 24 or newer; pin it by digest where you build.
ARG BASE_IMAGE=node:24-bookworm-slim
FROM ${BASE_IMAGE}

RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git python3 ripgrep socat util-linux \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /app
# First the packages alone, so that a change of the source does not install them again.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm cache clean --force
COPY . .

# The sandbox needs an ordinary user: bubblewrap refuses to work as root without capabilities.
RUN groupadd --gid 1000 --non-unique agent-fix \
 && useradd --uid 1000 --gid 1000 --non-unique --no-create-home --home-dir /data --shell /usr/sbin/nologin agent-fix \
 && install -d -o 1000 -g 1000 -m 0700 /data
USER 1000:1000

ENV NODE_ENV=production \
    HOME=/data \
    DATA_DIR=/data \
    HOST=0.0.0.0 \
    PORT=3000
VOLUME /data
EXPOSE 3000

HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Node directly, so that SIGTERM reaches the server; run with --init, which collects the sandbox's dead processes.
ENTRYPOINT ["node", "src/cli/main.ts"]
CMD ["serve"]
