/** Where a server listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses `HOST:PORT`, `[::1]:9000`, `:9000` for all addresses of this machine, or a port alone. */
export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain = "", digits = ""] =
    /^(?:(?:\[([\da-f:.]+)\]|([\w.-]*)):)?(\d{1,5})$/iu.exec(text) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65_535) {
    throw new Error("must be HOST:PORT, such as 127.0.0.1:9000 or [::1]:9000");
  }
  const host = bracketed ?? plain;
  if (host !== "") return { host, port };
  return { host: text.startsWith(":") ? "::" : LOOPBACK, port };
}

export const LOOPBACK = "127.0.0.1";

/** Whether only this machine can connect. */
export function isLocal({ host }: ListenAddress): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/u.test(host);
}
