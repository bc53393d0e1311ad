/** What each thread runs: beside this file, in the sources as well as compiled. */
export function workerFile(): string {
  return import.meta.url.replace("/worker-file.", "/worker.");
}
