import { type Identity, type Recipient, StorageError, type Store } from "@idk/storage";
import { expect, test } from "bun:test";
import { isListedFor } from "../../src/blobs/listing/is-listed.ts";

const ADDRESS = "a".repeat(64);
const OWN = "own" as Recipient;
const identities = [{ recipient: OWN }] as unknown as Identity[];

/** A store whose credentials may do what is given. */
const storeThatMay = (...allowed: string[]) => {
  const demand = (operation: string): void => {
    if (!allowed.includes(operation)) throw new StorageError("permission", "access denied");
  };
  return {
    async *list() {
      demand("list");
      yield { address: ADDRESS, size: 1 };
    },
    async has() {
      demand("read");
      return true;
    },
  } as unknown as Store;
};

test.each<[listed: boolean, recipients: string[], allowed: string[]]>([
  [true, ["other", "own"], ["list", "read"]],
  [false, ["other"], ["list", "read"]],
  [false, ["own"], ["read"]],
  [false, ["own"], ["list"]],
  [false, ["own"], []],
])("%p for recipients %p with credentials that may %p", async (listed, recipients, allowed) => {
  const { signal } = new AbortController();
  const opened = storeThatMay(...allowed);
  const to = recipients as Recipient[];
  expect(await isListedFor(identities, to, opened, ADDRESS, signal)).toBe(listed);
});

test("an interruption keeps no address from being printed", async () => {
  const signal = AbortSignal.abort();
  const asked = isListedFor(identities, [OWN], storeThatMay(), ADDRESS, signal);
  expect(await asked).toBe(false);
});
