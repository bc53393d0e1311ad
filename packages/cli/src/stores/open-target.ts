import type { StoreLocation } from "@idk/storage/url";
import { createFolder } from "../folders.ts";
import type { Session } from "../session.ts";
import { type OpenBackend, openBackend } from "./open-store.ts";

/** Opens the target of a copy. Makes the folder, as put does. */
export async function openTarget(location: StoreLocation, session: Session): Promise<OpenBackend> {
  if (location.kind === "filesystem") await createFolder(location.folder);
  return openBackend(location, session);
}
