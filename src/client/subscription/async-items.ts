// What subscriptions give to `for await`.

/**
 * Items that come one after the other, for `for await` or by hand with `next`. The same as AsyncIterableIterator<T, void>, which
 * TypeScript has with two arguments only since 5.6.
 */
export interface AsyncItems<T> extends AsyncIterator<T, void> {
  [Symbol.asyncIterator](): AsyncItems<T>;
}
