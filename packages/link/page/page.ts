/* Opens the link in the address of the page, and shows and saves what it refers to. */
import { PICTURE_MAX, PREVIEW_MAX, isCalledPicture, previewElement, recognize } from "./preview.ts";
import { PageError, formatSize, formatTime, mayTryAgain, sentenceOf } from "./sentences.ts";
import { type OpenedLink, openLink } from "../src/open.ts";
import { isLoopback } from "../src/place.ts";
import { registerWorker, save } from "./save.ts";

const element = (id: string): HTMLElement => document.getElementById(id)!;
const name = element("name");
const facts = element("facts");
const status = element("status");
const saving = element("saving");
const progress = element("progress") as HTMLProgressElement;
const amount = element("amount");
const saveButton = element("save") as HTMLButtonElement;
const showButton = element("show") as HTMLButtonElement;
const cancelButton = element("cancel") as HTMLButtonElement;
const otherButton = element("other") as HTMLButtonElement;
const retryButton = element("retry") as HTMLButtonElement;
const preview = element("preview");
const details = element("details");
const frame = element("download") as HTMLIFrameElement;

/** What the buttons do for the link that is shown. */
const actions = { save() {}, show() {}, cancel() {}, retry() {} };
/** Ends everything that belongs to the link that is shown. */
let shown = new AbortController();
let shownFragment = "";
let isSaving = false;

/**
 * The link: what followed `#`. It is taken out of the address, so that it is not on the screen or copied
 * with the address, and kept in the state of the tab, so that the page can be reloaded. A browser may have
 * recorded the address before, and writes the state to its disk to restore tabs.
 */
function takeFragment(): string {
  const given = location.hash.slice(1);
  if (given !== "") {
    history.replaceState({ fragment: given }, "", location.pathname + location.search);
    return given;
  }
  const state: unknown = history.state;
  const kept = state !== null && typeof state === "object" && "fragment" in state && state.fragment;
  return typeof kept === "string" ? kept : "";
}

async function open(): Promise<void> {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  isSaving = false;
  reset();
  const fragment = takeFragment();
  shownFragment = fragment;
  try {
    if (fragment === "") {
      throw new PageError(
        "This page opens links to encrypted files. Open the whole link that you were sent, with everything after the #.",
      );
    }
    const link = await openLink(fragment, {
      signal,
      allowLoopback: isLoopback(location.hostname),
    });
    if (!signal.aborted) show(link, signal);
  } catch (error) {
    if (signal.aborted) return;
    name.textContent = fragment === "" ? "No link to open" : "This file cannot be opened";
    fail(error, fragment === "" ? undefined : () => void open());
  }
}

/** Opens the link that the address has now. A save would end, so while one runs, the reader decides. */
function openNext(): void {
  if (!isSaving) return void open();
  const isOther = takeFragment() !== shownFragment;
  otherButton.hidden = !isOther;
  tell(isOther ? "This file is still being saved. Opening the other link stops that." : "Saving");
}

function reset(): void {
  name.textContent = "Opening…";
  facts.textContent = "";
  tell("");
  for (const part of [
    saving,
    saveButton,
    showButton,
    cancelButton,
    otherButton,
    retryButton,
    preview,
    details,
  ]) {
    part.hidden = true;
  }
  preview.replaceChildren();
}

function show(link: OpenedLink, signal: AbortSignal): void {
  name.textContent = link.name || "File without a name";
  const until = link.expires && `available until ${formatTime(link.expires)}`;
  facts.textContent = [formatSize(link.size), until]
    .filter((fact) => fact !== undefined)
    .join(", ");
  element("size").textContent = `${link.size.toLocaleString("en")} bytes`;
  element("type").textContent = link.type || "none";
  element("address").textContent = link.address;
  details.hidden = false;
  saveButton.hidden = false;
  actions.save = () => void runSave(link, signal);
  actions.show = () => void showPreview(link, signal);
  if (link.size <= PREVIEW_MAX) {
    void showPreview(link, signal);
  } else if (link.size <= PICTURE_MAX && isCalledPicture(link.name, link.type)) {
    showButton.hidden = false;
  }
}

async function showPreview(link: OpenedLink, signal: AbortSignal): Promise<void> {
  const asked = !showButton.hidden;
  showButton.disabled = true;
  try {
    const bytes = await link.bytes(PICTURE_MAX);
    const kind = recognize(bytes);
    const found = kind && (await previewElement(bytes, kind, link.name));
    if (signal.aborted) return;
    showButton.hidden = true;
    if (found) {
      preview.replaceChildren(found);
      preview.hidden = false;
    } else if (asked) {
      throw new PageError("This file is not a picture that can be shown here. It can be saved.");
    }
  } catch (error) {
    // A picture that the browser cannot decode can still be saved.
    const isOfFile = !(error instanceof DOMException);
    if (!signal.aborted && (asked || isOfFile)) fail(error);
  } finally {
    showButton.disabled = false;
  }
}

async function runSave(link: OpenedLink, shownSignal: AbortSignal): Promise<void> {
  const cancelling = new AbortController();
  const signal = AbortSignal.any([shownSignal, cancelling.signal]);
  actions.cancel = () => cancelling.abort();
  retryButton.hidden = true;
  saveButton.hidden = true;
  cancelButton.hidden = false;
  saving.hidden = false;
  isSaving = true;
  cancelButton.focus();
  const onProgress = (bytes: number): void => {
    progress.value = link.size === 0 ? 1 : bytes / link.size;
    amount.textContent = `${formatSize(bytes)} of ${formatSize(link.size)}`;
  };
  onProgress(0);
  tell("Saving");
  addEventListener("beforeunload", askToStay);
  try {
    await save(link, { frame, signal, onProgress });
    if (shownSignal.aborted) return;
    tell("Saved. All of the file was verified and handed to the browser.", "good");
  } catch (error) {
    if (!shownSignal.aborted) fail(error);
  } finally {
    removeEventListener("beforeunload", askToStay);
    if (!shownSignal.aborted) {
      isSaving = false;
      saving.hidden = true;
      cancelButton.hidden = true;
      saveButton.hidden = false;
      saveButton.focus();
    }
  }
}

/** The download ends with the page. */
function askToStay(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

/** @param again offered if it may help */
function fail(error: unknown, again?: () => void): void {
  tell(sentenceOf(error), "bad");
  retryButton.hidden = again === undefined || !mayTryAgain(error);
  if (again !== undefined) actions.retry = again;
}

function tell(sentence: string, tone: "" | "good" | "bad" = ""): void {
  status.className = tone;
  status.textContent = sentence;
}

saveButton.addEventListener("click", () => actions.save());
showButton.addEventListener("click", () => actions.show());
cancelButton.addEventListener("click", () => actions.cancel());
otherButton.addEventListener("click", () => void open());
retryButton.addEventListener("click", () => actions.retry());
// A link that is pasted while the page is open changes only what follows #.
addEventListener("hashchange", openNext);
// Going back to an earlier link changes only the state.
addEventListener("popstate", () => {
  if (location.hash === "") openNext();
});
void registerWorker();
void open();
