import type {
  Cache,
  Pack,
  PiecePlace,
  PreparedState,
  SessionState,
} from "../../../src/cache/cache.ts";
import { toHex } from "@idk/storage/blobs";

/** Is told what a host has made ready, before its marker is put, and what it takes for committed. */
export interface CacheEvents {
  onPrepare(state: PreparedState, packs: readonly Pack[]): void;
  onCommit(state: SessionState): void;
}

/** The cache of a host, in memory: all of it but the records of files. It can be copied. */
export class MemoryCache {
  committed: SessionState | undefined;
  prepared: (PreparedState & { readonly packs: ReadonlySet<number> }) | undefined;
  lastPack = 0;
  packs = new Map<number, Pack>();
  pieces = new Map<string, PiecePlace>();
  sessions = new Map<string, Uint8Array>();

  copy(): MemoryCache {
    const copy = Object.assign(new MemoryCache(), this);
    copy.packs = new Map(this.packs);
    copy.pieces = new Map(this.pieces);
    copy.sessions = new Map(this.sessions);
    return copy;
  }

  /** Opens it, as a process does. */
  open({ onPrepare, onCommit }: CacheEvents): Cache {
    // oxlint-disable-next-line typescript/no-this-alias unicorn/no-this-assignment -- the cache outlives what opens it
    const self = this;
    const notHere = (): never => {
      throw new Error("the model has no files");
    };
    return {
      setAside: undefined,
      get committed() {
        return self.committed;
      },
      get prepared() {
        return self.prepared;
      },
      addSession: (id, key) => void self.sessions.set(toHex(id), key),
      sessionKey: (id) => self.sessions.get(toHex(id)),
      newPack: () => (self.lastPack += 1),
      addPiece: (hash, place) => void self.pieces.set(toHex(hash), place),
      addPack: (id, row, stored) =>
        void self.packs.set(id, { id, row, stored, isCommitted: false }),
      pack: (id) => self.packs.get(id),
      *packs() {
        yield* self.packs.values();
      },
      piece: (hash) => self.pieces.get(toHex(hash)),
      begin() {
        self.prepared = undefined;
        return { add: notHere };
      },
      prepare(state, packs, isPart = false) {
        self.prepared = { ...state, isPart, packs: new Set(packs) };
        const needed = Array.from(self.prepared.packs, (id) => self.packs.get(id)!);
        onPrepare(self.prepared, needed);
      },
      commit(sessions) {
        const { packs, isPart, ...state } = self.prepared!;
        self.committed = state;
        self.prepared = undefined;
        for (const [id, pack] of self.packs) {
          if (packs.has(id)) self.packs.set(id, { ...pack, isCommitted: true });
          else if (!isPart) self.packs.delete(id);
        }
        if (!isPart) {
          for (const [hash, { pack }] of self.pieces) {
            if (!packs.has(pack)) self.pieces.delete(hash);
          }
          const kept = new Set(Array.from(sessions, (id) => toHex(id)));
          for (const id of self.sessions.keys()) if (!kept.has(id)) self.sessions.delete(id);
        }
        onCommit(state);
      },
      discard() {
        self.prepared = undefined;
      },
      records: notHere,
      listAt: notHere,
      use: notHere,
      close: notHere,
    };
  }
}
