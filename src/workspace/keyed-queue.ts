/** Runs the jobs of one key one after another, in this process. */

export interface KeyedQueue {
  /** Starts `job` when every earlier job of the key has settled. */
  run<T>(key: string, job: () => Promise<T>): Promise<T>;
  isBusy(key: string): boolean;
}

export function keyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run: (key, job) => {
      const before = tails.get(key) ?? Promise.resolve();
      const result = before.then(job);
      // The tail settles either way; the caller gets the rejection through `result`.
      const tail: Promise<unknown> = result.then(
        () => undefined,
        () => undefined,
      );
      tails.set(key, tail);
      return result.finally(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
    },
    isBusy: (key) => tails.has(key),
  };
}
