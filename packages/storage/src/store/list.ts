import type { ListOptions, ListedAddress } from "./reports.ts";
import type { Backend } from "../backend/backend.ts";
import { parseAddress } from "../content/address.ts";
import { usage } from "../errors.ts";

const PREFIX = /^[0-9a-f]{0,64}$/u;

/** All blobs of the store; see `Store.list`. */
export async function* list(
  backend: Backend,
  { prefix = "", signal }: ListOptions,
): AsyncGenerator<ListedAddress> {
  if (!PREFIX.test(prefix)) throw usage("a prefix is at most 64 lowercase hexadecimal digits");
  for await (const { name, size, storedAt } of backend.list(prefix, { signal })) {
    yield {
      address: parseAddress(name),
      size,
      ...(storedAt === undefined ? {} : { storedAt }),
    };
  }
}
