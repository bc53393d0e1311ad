import { type Backend, StorageError, wrapBackend } from "@idk/storage";

/**
 * A backend that has blobs and cannot return their bytes now.
 *
 * @param transient false for a backend that does not keep to the contract
 */
export function unreadable(
  inner: Backend,
  addresses: ReadonlySet<string>,
  { transient = true }: { readonly transient?: boolean } = {},
): Backend {
  const require = (name: string): void => {
    if (addresses.has(name))
      throw new StorageError("address", `unreadable: ${name}`, { transient });
  };
  return wrapBackend(inner, {
    get: (get) => async (name, buffer, options) => {
      require(name);
      return get(name, buffer, options);
    },
    getRange: (getRange) => async (name, offset, buffer, options) => {
      require(name);
      return getRange(name, offset, buffer, options);
    },
  });
}
