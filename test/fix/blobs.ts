/** A run's blobs in memory. */

export function blobs() {
  const stored = new Map<string, string>();
  return {
    stored,
    blob: async (name: string) => stored.get(name) ?? null,
    putBlob: async (name: string, text: string) => void stored.set(name, text),
  };
}
