import type { PutReport } from "@idk/storage";
import { formatBytes } from "./sizes.ts";

/** What a put had not to send because the store has it; undefined where that is nothing. */
export function describeSkipped({
  chunks,
  skippedChunks,
  skippedBytes,
}: Pick<PutReport, "chunks" | "skippedChunks" | "skippedBytes">): string | undefined {
  if (skippedBytes === 0 && skippedChunks === 0) return undefined;
  const parts = skippedChunks === 0 ? "" : `${skippedChunks} of ${chunks} chunks, `;
  return `skipped ${parts}${formatBytes(skippedBytes)}, which the store has already`;
}
