import { foldedName, marked } from "./safe-name.ts";

/** Assigns each file of one run a unique path. */
export interface Claims {
  /**
   * @param segments safe names: folders, and the file
   * @param address the content's address, whose digits are added if the path is taken
   * @returns segments that no other file has, on any file system
   */
  claim(segments: readonly string[], address: string): readonly string[];
}

/** Numbers of address digits that distinguish files of the same name. */
const MARK_LENGTHS = [8, 16, 32] as const;

export function createClaims(): Claims {
  const files = new Set<string>();
  /** The first spelling of each folder, by its folded path. */
  const folders = new Map<string, string>();

  const below = (folder: string, name: string): string => `${folder}/${foldedName(name)}`;

  const claimFolder = (parent: string, name: string): { key: string; name: string } => {
    let free = name;
    while (files.has(below(parent, free))) free += "~";
    const key = below(parent, free);
    const spelled = folders.get(key) ?? free;
    folders.set(key, spelled);
    return { key, name: spelled };
  };

  return {
    claim(segments, address) {
      const claimed: string[] = [];
      let parent = "";
      for (const name of segments.slice(0, -1)) {
        const folder = claimFolder(parent, name);
        claimed.push(folder.name);
        parent = folder.key;
      }
      const name = segments.at(-1) ?? address;
      const taken = (free: string): boolean =>
        files.has(below(parent, free)) || folders.has(below(parent, free));
      const marks = MARK_LENGTHS.map((length) => marked(name, address.slice(0, length)));
      let free = [name, ...marks].find((candidate) => !taken(candidate)) ?? marks.at(-1)!;
      while (taken(free)) free += "~";
      files.add(below(parent, free));
      return [...claimed, free];
    },
  };
}
