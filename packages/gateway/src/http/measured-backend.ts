import { type Backend, wrapBackend } from "@idk/storage";
import type { Metrics } from "./metrics.ts";

/** A backend whose requests are counted. Pass the one that retries, to count what callers wait for. */
export function measured(backend: Backend, metrics: Metrics): Backend {
  const timed = async <T>(call: string, work: Promise<T>): Promise<T> => {
    const end = metrics.backend(call);
    try {
      const result = await work;
      end("ok");
      return result;
    } catch (error) {
      end("failed");
      throw error;
    }
  };
  return wrapBackend(backend, {
    put:
      (put) =>
      async (...given) =>
        timed("put", put(...given)),
    get:
      (get) =>
      async (...given) =>
        timed("get", get(...given)),
    getRange:
      (getRange) =>
      async (...given) =>
        timed("get-range", getRange(...given)),
    head:
      (head) =>
      async (...given) =>
        timed("head", head(...given)),
    delete:
      (remove) =>
      async (...given) =>
        timed("delete", remove(...given)),
  });
}
