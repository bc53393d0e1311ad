/**
 * The files of the page that opens links, by name. From source they are built now; builds of the
 * command replace this module by one that has them.
 */
export async function pageFiles(): Promise<ReadonlyMap<string, string>> {
  const { buildPage } = await import("@idk/link/build-page");
  return (await buildPage()).files;
}
