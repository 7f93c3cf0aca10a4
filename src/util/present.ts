/**
 * Owns the passing on of options: an option that was not given is left out, not passed on as undefined.
 */
type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The same object without the fields that are undefined. */
export function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>;
}
