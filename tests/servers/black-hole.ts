import { connect, type Socket } from "node:net";

export interface BlackHole {
  readonly port: number;
  stop(): void;
}

const LISTEN = `
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));
`;

/**
 * A port on the loopback interface to which connections neither succeed nor fail, as if a firewall
 * dropped the packets: the listening process is stopped and its accept queue is full.
 */
export async function blackHole(): Promise<BlackHole> {
  const child = Bun.spawn([process.execPath, "-e", LISTEN], { stdout: "pipe" });
  const sockets: Socket[] = [];
  const stop = (): void => {
    for (const socket of sockets) socket.destroy();
    child.kill("SIGKILL");
  };
  try {
    const { value } = await child.stdout.getReader().read();
    const port = Number(new TextDecoder().decode(value));
    child.kill("SIGSTOP");
    while (await connects(port, sockets));
    return { port, stop };
  } catch (error) {
    stop();
    throw error;
  }
}

async function connects(port: number, sockets: Socket[]): Promise<boolean> {
  // The accept queue is bounded: by 4096 on Linux.
  if (sockets.length > 5000) throw new Error("the system accepts any number of connections");
  const socket = connect(port, "127.0.0.1");
  sockets.push(socket);
  return new Promise((resolve) => {
    socket.on("error", () => resolve(false));
    socket.once("connect", () => resolve(true));
    setTimeout(() => resolve(false), 1000);
  });
}
