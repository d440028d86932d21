/** The floor of `webhooks.ts`: a bare HTTP server that appends each body to the file it is given, syncs it and answers; ends with its standard input. */

import { once } from "node:events";
import { open } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

async function serve(path: string): Promise<void> {
  const file = await open(path, "a");
  const server = createServer(async (request, response) => {
    await file.appendFile(await buffer(request));
    await file.sync();
    response.end("ok\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/\n`);
  process.stdin.resume();
  await once(process.stdin, "end");
  server.closeAllConnections();
  server.close();
  await file.close();
}

await serve(process.argv[2] ?? "");
