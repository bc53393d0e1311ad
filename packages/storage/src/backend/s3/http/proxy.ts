import { usage } from "../../../errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A variable by its name in lowercase. As in curl, lowercase wins. */
function variable(name: string, env: Environment): { name: string; value: string } | undefined {
  for (const spelling of [name, name.toUpperCase()]) {
    // In CGI programs a request's header `Proxy` becomes this variable.
    const isHeader = spelling === "HTTP_PROXY" && env["REQUEST_METHOD"] !== undefined;
    const value = env[spelling]?.trim();
    if (value && !isHeader) return { name: spelling, value };
  }
  return undefined;
}

/**
 * The proxy that the environment names for a URL, or undefined to connect directly: `http_proxy` or
 * `https_proxy`, else `all_proxy`, unless `no_proxy` lists the host; in either case.
 *
 * @returns an http: or https: URL, which may contain credentials
 * @throws StorageError `usage` if the proxy is malformed or of another kind
 */
export function proxyFor(url: URL, env: Environment = process.env): string | undefined {
  const scheme = url.protocol === "https:" ? "https" : "http";
  const found = variable(`${scheme}_proxy`, env) ?? variable("all_proxy", env);
  if (found === undefined || isExcluded(url, variable("no_proxy", env)?.value ?? "")) {
    return undefined;
  }
  const text = /^[a-z][a-z0-9+.-]*:\/\//iu.test(found.value)
    ? found.value
    : `http://${found.value}`;
  // Without the value, which may contain a password.
  if (!URL.canParse(text)) throw usage(`${found.name} is not a URL; set it to http://HOST:PORT`);
  const proxy = new URL(text);
  if (!/^https?:$/u.test(proxy.protocol)) {
    throw usage(
      `${found.name} names a proxy that is not supported; set it to http://HOST:PORT, or list ${url.hostname} in NO_PROXY`,
    );
  }
  return proxy.href;
}

/** Loaded only if a proxy is set, because loading it takes longer than signing and sending a request. */
function net(): typeof import("node:net") {
  return process.getBuiltinModule("node:net");
}

/** Whether `no_proxy` lists the host: `*`, a name with all below it, an address, a range; `:PORT`. */
function isExcluded(url: URL, list: string): boolean {
  const host = url.hostname.replaceAll(/[[\]]/gu, "").replace(/\.$/u, "");
  const { isIP } = net();
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/u)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true;
      if (entry.includes("/")) return isInRange(host, entry);
      const [, name = "", only] = isIP(entry) === 6 ? [entry, entry] : (ENTRY.exec(entry) ?? []);
      if (only !== undefined && only !== port) return false;
      const plain = shortest(name.replaceAll(/^\*?\.|\.$|[[\]]/gu, ""));
      return plain !== "" && (host === plain || (isIP(host) === 0 && host.endsWith(`.${plain}`)));
    });
}

/** An IPv6 address in the spelling that URLs have; anything else as it is. */
function shortest(host: string): string {
  return net().isIP(host) === 6 && URL.canParse(`http://[${host}]`)
    ? new URL(`http://[${host}]`).hostname.slice(1, -1)
    : host;
}

const ENTRY = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/u;

/** @param range such as `10.0.0.0/8` */
function isInRange(host: string, range: string): boolean {
  const [, network = "", bits = ""] = /^([^/]*)\/(\d{1,3})$/u.exec(range) ?? [];
  const { BlockList, isIP } = net();
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const block = new BlockList();
  block.addSubnet(network, Number(bits), type);
  return block.check(host, type);
}
