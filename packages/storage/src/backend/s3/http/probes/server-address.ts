/** Where a server listens. */
export interface ServerAddress {
  /** A name or an address, as `node:net` takes it. */
  readonly host: string;
  readonly port: number;
  /** `HOST:PORT` for messages: nothing else of the URL, which may contain secrets. */
  readonly text: string;
}

/** The server that the requests to a URL go to, unless there is a proxy. */
export function serverAddress({ protocol, hostname, port: given }: URL): ServerAddress {
  const port = Number(given) || (protocol === "https:" ? 443 : 80);
  return { host: hostname.replaceAll(/[[\]]/gu, ""), port, text: `${hostname}:${port}` };
}
