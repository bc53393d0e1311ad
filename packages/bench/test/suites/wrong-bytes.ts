import { type NaCl, loadNaCl } from "@idk/storage";

/** Runs an operation while the native NaCl opens every long message with one wrong bit. */
export async function withWrongBytes<T>(run: () => Promise<T>): Promise<T> {
  const native = await loadNaCl("native");
  const { open } = native;
  const wrong: NaCl["open"] = (message, ...rest) => {
    const opened = open(message, ...rest);
    if (message.length > 10_000) message[1000]! ^= 1;
    return opened;
  };
  Object.assign(native, { open: wrong });
  try {
    return await run();
  } finally {
    Object.assign(native, { open });
  }
}
