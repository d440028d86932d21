/** A certificate authority of one, for 127.0.0.1, and a proxy that only tunnels: what stands in front of a private GitHub. */

import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";

export interface SelfSigned {
  readonly key: string;
  readonly cert: string;
  /** Path of the certificate (PEM). */
  readonly file: string;
}

/** Made by openssl in `directory`; throws when that is not installed. */
export async function selfSigned(directory: string): Promise<SelfSigned> {
  const [key, file] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  execFileSync(
    "openssl",
    [
      ...[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ],
      ...["-subj", "/CN=github.test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", file],
    ],
    { stdio: "pipe" },
  );
  return { key: await readFile(key, "utf8"), cert: await readFile(file, "utf8"), file };
}

export interface TunnelProxy {
  readonly url: string;
  /** What was asked to be tunnelled to, each time, with the asker's User-Agent. */
  readonly tunnels: readonly { readonly to: string; readonly agent: string }[];
  close(): Promise<void>;
}

export async function tunnelProxy(): Promise<TunnelProxy> {
  const tunnels: { to: string; agent: string }[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((_, response) => response.writeHead(405).end());
  server.on("connect", (request, client: Socket) => {
    const to = request.url ?? "";
    tunnels.push({ to, agent: request.headers["user-agent"] ?? "" });
    const { hostname, port } = new URL(`http://${to}`);
    const target = connect(Number(port), hostname, () => {
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      target.pipe(client).pipe(target);
    });
    keep(client);
    keep(target);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tunnels,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
