/**
 * Owns how programs in a sandbox find the proxy: by the variables that they read.
 *
 * - `http_proxy`, `https_proxy`, `no_proxy` in both cases: curl (which reads the first in small letters
 *   only), git, wget, Python and pip, Go, cargo, npm, pnpm, Yarn, Chromium. `ALL_PROXY` is for programs that
 *   use neither of them.
 * - `NODE_USE_ENV_PROXY`: `fetch` and `http` of Node read those variables only if it is set.
 * - `CARGO_HTTP_PROXY` and `npm_config_*` override files of settings: a proxy of the user's own network that
 *   is named there can't be reached from a sandbox. pip has such a variable too, but then ignores `NO_PROXY`,
 *   and would ask the proxy for an index on `localhost`.
 */
const NO_PROXY = "localhost,.localhost,127.0.0.1,::1,[::1]";

export function proxyEnvironment(port: number): Record<string, string> {
  const proxy = `http://127.0.0.1:${port}`;
  return {
    ...inBothCases({ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY }),
    NODE_USE_ENV_PROXY: "1",
    CARGO_HTTP_PROXY: proxy,
    npm_config_proxy: proxy,
    npm_config_https_proxy: proxy,
    npm_config_noproxy: NO_PROXY,
  };
}

function inBothCases(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => [
      [name, value],
      [name.toLowerCase(), value],
    ]),
  );
}
