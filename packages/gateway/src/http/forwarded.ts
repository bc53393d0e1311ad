import { BlockList, isIP } from "node:net";
import type { RequestHeaders } from "../signature/request.ts";

/** Where a request comes from, as far as that can be known. */
export interface Origin {
  /** The IP address of the client. */
  readonly client: string;
  /** True if something on the way says that it forwarded the request. */
  readonly isForwarded: boolean;
  /** The scheme of the client's connection, if a trusted proxy says so. */
  readonly scheme: "http" | "https" | undefined;
}

/** Tells whether a proxy's word about its clients counts. */
export type IsTrusted = (address: string) => boolean;

/**
 * Parses addresses of proxies: `10.0.0.5`, or a network such as `10.0.0.0/8`.
 *
 * @throws Error for one that is neither
 */
export function trustedProxies(addresses: readonly string[]): IsTrusted {
  const list = new BlockList();
  for (const text of addresses) {
    const [address = "", bits, ...others] = text.split("/");
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    if (version === 0 || others.length > 0) throw notAddress(text);
    const family = version === 6 ? "ipv6" : "ipv4";
    if (bits === undefined) {
      list.addAddress(address, family);
    } else {
      if (!/^\d{1,3}$/u.test(bits) || Number(bits) > most) throw notAddress(text);
      list.addSubnet(address, Number(bits), family);
    }
  }
  return (address) => {
    const plain = withoutMapping(address);
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 6 ? "ipv6" : "ipv4");
  };
}

function notAddress(text: string): Error {
  return new Error(`"${text}" is neither an IP address nor a network such as 10.0.0.0/8`);
}

/** Headers with which proxies say that they are there. */
const FORWARDED = ["x-forwarded-for", "forwarded", "via", "x-real-ip"] as const;

/** @param remote the IP address of the connection */
export function originOf(remote: string, headers: RequestHeaders, isTrusted: IsTrusted): Origin {
  const isForwarded = FORWARDED.some((name) => headers.has(name));
  if (!isTrusted(remote)) return { client: remote, isForwarded, scheme: undefined };
  // Each proxy adds the address it was called from. Those before the last untrusted one may be invented.
  const hops = (headers.get("x-forwarded-for") ?? "").split(",").map((hop) => hop.trim());
  let client = remote;
  for (const hop of hops.toReversed()) {
    if (isIP(hop) === 0) break;
    client = hop;
    if (!isTrusted(hop)) break;
  }
  const proto = headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase();
  const scheme = proto === "http" || proto === "https" ? proto : undefined;
  return { client, isForwarded, scheme };
}

/** An IPv4 address that came over IPv6. */
function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/u, "");
}
