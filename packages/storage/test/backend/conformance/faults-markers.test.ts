import type { Backend, Marker } from "../../../src/backend/backend.ts";
import { throwIfAborted } from "../../../src/abort.ts";
import { memory } from "../../../src/backend/memory.ts";
import { testFaults } from "./faults.ts";

type List = NonNullable<Backend["listMarkers"]>;

/** Lists other markers than the correct backend does. */
const listing = (change: (correct: List) => List) => (correct: Backend) => ({
  listMarkers: change(correct.listMarkers!),
});

const IN_ORDER = "lists markers in order, from a start";
const MANY = "markers once, in order";

testFaults([
  {
    fault: "has markers, but cannot delete them",
    detectedBy: ["all methods for markers"],
    correct: () => {
      const { deleteMarker: _, ...rest } = memory();
      return rest;
    },
    override: () => ({}),
  },
  {
    fault: "has markers, but does not tell its time",
    detectedBy: ["all methods for markers"],
    correct: () => {
      const { currentTime: _, ...rest } = memory();
      return rest;
    },
    override: () => ({}),
  },
  {
    fault: "does not store markers",
    detectedBy: ["keeps a marker when reopened", "stores the same marker twice", IN_ORDER],
    override: () => ({ putMarker: async () => {} }),
  },
  {
    fault: "loses markers when it is closed",
    detectedBy: ["keeps a marker when reopened"],
    override: () => ({}),
    losesBlobs: true,
  },
  {
    fault: "fails if a marker is there already",
    detectedBy: ["stores the same marker twice"],
    override: (correct) => ({
      async putMarker(name, options) {
        const [found] = await Array.fromAsync(correct.listMarkers!(name));
        if (found) throw new Error("EEXIST");
        await correct.putMarker!(name, options);
      },
    }),
  },
  {
    fault: "keeps one marker of each chain",
    detectedBy: [IN_ORDER, MANY],
    override: (correct) => ({
      async putMarker(name, options) {
        await correct.putMarker!(name, options);
        for await (const other of correct.listMarkers!(name.slice(0, 32))) {
          if (other.name !== name) await correct.deleteMarker!(other.name);
        }
      },
    }),
  },
  {
    fault: "does not delete markers",
    detectedBy: ["deletes a marker, and only that one"],
    override: () => ({ deleteMarker: async () => {} }),
  },
  {
    fault: "deletes all markers of a chain",
    detectedBy: ["deletes a marker, and only that one", "deletes a missing marker"],
    override: (correct) => ({
      async deleteMarker(name, options) {
        for await (const other of correct.listMarkers!(name.slice(0, 32), options)) {
          await correct.deleteMarker!(other.name);
        }
      },
    }),
  },
  {
    fault: "deletes only the latest version of a marker",
    detectedBy: ["with all its versions"],
    override: (correct) => {
      const versions = new Map<string, number>();
      return {
        async putMarker(name, options) {
          await correct.putMarker!(name, options);
          versions.set(name, (versions.get(name) ?? 0) + 1);
        },
        async deleteMarker(name, options) {
          const left = (versions.get(name) ?? 1) - 1;
          versions.set(name, left);
          if (left <= 0) await correct.deleteMarker!(name, options);
          else throwIfAborted(options?.signal);
        },
      };
    },
  },
  {
    fault: "fails to delete a missing marker",
    detectedBy: ["deletes a missing marker without an error"],
    override: (correct) => ({
      async deleteMarker(name, options) {
        const [found] = await Array.fromAsync(correct.listMarkers!(name, options));
        if (!found) throw new Error("ENOENT");
        await correct.deleteMarker!(name, options);
      },
    }),
  },
  {
    fault: "lists markers as blobs",
    detectedBy: ["keeps markers and blobs apart"],
    override: (correct) => ({
      async *list(prefix, options) {
        yield* correct.list(prefix, options);
        for await (const { name } of correct.listMarkers!("")) {
          yield { name: name.slice(-64), size: 0 };
        }
      },
    }),
  },
  {
    fault: "deletes the markers of a blob with it",
    detectedBy: ["keeps markers and blobs apart"],
    override: (correct) => ({
      async delete(name, options) {
        await correct.delete(name, options);
        for await (const marker of correct.listMarkers!("")) {
          if (marker.name.endsWith(name)) await correct.deleteMarker!(marker.name);
        }
      },
    }),
  },
  {
    fault: "dates markers by another clock than it tells",
    detectedBy: ["with the storage's own time"],
    override: (correct) => ({
      currentTime: async (options) => (await correct.currentTime!(options)) - 3_600_000,
    }),
  },
  {
    fault: "fails to make a storage that is there",
    detectedBy: ["if it is asked to make the storage"],
    override: (correct) => ({
      async currentTime(options) {
        if (options?.create === true) throw new Error("EEXIST");
        return correct.currentTime!(options);
      },
    }),
  },
  {
    fault: "makes the storage anew when it is asked to make it",
    detectedBy: ["if it is asked to make the storage"],
    override: (correct) => ({
      async currentTime(options) {
        if (options?.create === true) {
          for await (const { name } of correct.listMarkers!("")) await correct.deleteMarker!(name);
        }
        return correct.currentTime!(options);
      },
    }),
  },
  {
    fault: "leaves a blob behind that it took the time from",
    detectedBy: ["leaves nothing behind when it finds out the time"],
    override: (correct) => ({
      async currentTime(options) {
        await correct.put("0".repeat(64), new Uint8Array(1), options);
        return correct.currentTime!(options);
      },
    }),
  },
  {
    fault: "lists markers in the order in which they were stored",
    detectedBy: [IN_ORDER, MANY],
    override: (correct) => {
      const stored: string[] = [];
      return {
        async putMarker(name, options) {
          await correct.putMarker!(name, options);
          stored.push(name);
        },
        async *listMarkers(prefix, options) {
          const all = await Array.fromAsync(correct.listMarkers!(prefix, options));
          yield* all.toSorted((a, b) => stored.indexOf(a.name) - stored.indexOf(b.name));
        },
      };
    },
  },
  {
    fault: "lists foreign names among the markers",
    detectedBy: ["lists no markers if there are none", IN_ORDER],
    override: listing(
      (correct) =>
        async function* list(prefix, options) {
          yield { name: "00/README", storedAt: 0 };
          yield* correct(prefix, options);
        },
    ),
  },
  {
    fault: "lists only the first page of markers",
    detectedBy: [MANY],
    override: listing(
      (correct) =>
        async function* list(prefix, options) {
          let left = 100;
          for await (const marker of correct(prefix, options)) if (left-- > 0) yield marker;
        },
    ),
  },
  {
    fault: "ignores the start of a listing of markers",
    detectedBy: [IN_ORDER],
    override: listing(
      (correct) =>
        (prefix, { signal, limit } = {}) =>
          correct(prefix, { signal, limit }),
    ),
  },
  {
    fault: "starts a listing of markers with the start itself",
    detectedBy: [IN_ORDER],
    override: listing(
      (correct) =>
        async function* list(prefix, options = {}) {
          const { after = "" } = options;
          const [itself] = await Array.fromAsync(correct(after, { limit: 1 }));
          if (itself?.name === after && after.startsWith(prefix)) yield itself;
          yield* correct(prefix, options);
        },
    ),
  },
  {
    fault: "ignores the prefix of a listing of markers",
    detectedBy: [IN_ORDER],
    override: listing((correct) => (_, options) => correct("", options)),
  },
  {
    fault: "takes the prefix of a listing of markers for a chain",
    detectedBy: [IN_ORDER],
    override: listing(
      (correct) =>
        async function* list(prefix, options) {
          for await (const marker of correct(prefix, options)) {
            if (prefix === "" || marker.name.startsWith(`${prefix.replace(/\/.*/u, "")}/`))
              yield marker;
          }
        },
    ),
  },
  {
    fault: "ignores the limit of a listing of markers",
    detectedBy: [IN_ORDER],
    override: listing(
      (correct) =>
        (prefix, { signal, after } = {}) =>
          correct(prefix, { signal, after }),
    ),
  },
  {
    fault: "applies the limit of a listing of markers before the start",
    detectedBy: [IN_ORDER],
    override: listing(
      (correct) =>
        async function* list(prefix, { after = "", ...options } = {}) {
          for await (const marker of correct(prefix, options))
            if (marker.name > after) yield marker;
        },
    ),
  },
  {
    fault: "takes a limit of 0 for none",
    detectedBy: ["rejects a limit of markers"],
    override: listing(
      (correct) =>
        (prefix, { limit, ...options } = {}) =>
          correct(prefix, limit === undefined || !(limit >= 1) ? options : { ...options, limit }),
    ),
  },
  {
    fault: "fails if a marker is deleted while they are listed",
    detectedBy: ["while others are stored and deleted"],
    override: listing(
      (correct) =>
        async function* list(prefix, options) {
          const all: Marker[] = await Array.fromAsync(correct(prefix, options));
          for (const { name } of all) {
            const [found] = await Array.fromAsync(correct(name));
            if (!found) throw new Error("ENOENT");
            yield found;
          }
        },
    ),
  },
  {
    fault: "ignores the signal of calls for markers",
    detectedBy: ["with markers if the signal has fired", "of markers that is aborted midway"],
    override: (correct) => ({
      putMarker: (name) => correct.putMarker!(name),
      deleteMarker: (name) => correct.deleteMarker!(name),
      listMarkers: (prefix, { after, limit } = {}) =>
        correct.listMarkers!(prefix, { after, limit }),
    }),
  },
]);
