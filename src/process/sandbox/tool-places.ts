/**
 * Owns what is known of common tools: the variable that tells each where its files are, and the place where
 * it looks without one. HOME is the session's own inside, so a tool without the variable would look in the
 * wrong place.
 */
export interface ToolPlace {
  readonly variable: string;
  /** Below the user's home, where the files are without the variable. The first one that exists counts. */
  readonly below?: readonly string[];
  /**
   * Shown without setting the variable: the tool finds itself, and with the variable it would try to write
   * there.
   */
  readonly isOnlyShown?: boolean;
  /**
   * The host from which the tool fetches what is missing. If the task may reach it, the variable is not set,
   * so that the tool keeps what it fetches in the session's HOME.
   */
  readonly fetchedFrom?: string;
}

export const TOOL_PLACES: readonly ToolPlace[] = [
  { variable: "CARGO_HOME", below: [".cargo"], fetchedFrom: "index.crates.io" },
  { variable: "RUSTUP_HOME", below: [".rustup"] },
  { variable: "NVM_DIR", below: [".nvm", ".config/nvm"] },
  { variable: "FNM_DIR", below: [".local/share/fnm", ".fnm"] },
  { variable: "VOLTA_HOME", below: [".volta"] },
  { variable: "N_PREFIX" },
  { variable: "NODENV_ROOT", below: [".nodenv"] },
  { variable: "PNPM_HOME", below: [".local/share/pnpm"], isOnlyShown: true },
  { variable: "BUN_INSTALL", below: [".bun"], isOnlyShown: true },
  { variable: "DENO_INSTALL", below: [".deno"], isOnlyShown: true },
  { variable: "COREPACK_HOME", below: [".cache/node/corepack"], fetchedFrom: "registry.npmjs.org" },
  {
    variable: "PLAYWRIGHT_BROWSERS_PATH",
    below: [".cache/ms-playwright"],
    fetchedFrom: "cdn.playwright.dev",
  },
  { variable: "PUPPETEER_CACHE_DIR", below: [".cache/puppeteer"], fetchedFrom: "storage.googleapis.com" },
  { variable: "CYPRESS_CACHE_FOLDER", below: [".cache/Cypress"], fetchedFrom: "download.cypress.io" },
  { variable: "PYENV_ROOT", below: [".pyenv"] },
  { variable: "UV_PYTHON_INSTALL_DIR", below: [".local/share/uv/python"] },
  { variable: "UV_TOOL_DIR", below: [".local/share/uv/tools"], fetchedFrom: "pypi.org" },
  { variable: "PIPX_HOME", below: [".local/share/pipx", ".local/pipx"], fetchedFrom: "pypi.org" },
  { variable: "CONDA_PREFIX" },
  { variable: "VIRTUAL_ENV" },
  { variable: "MAMBA_ROOT_PREFIX", below: ["micromamba"], fetchedFrom: "conda.anaconda.org" },
  { variable: "RBENV_ROOT", below: [".rbenv"] },
  { variable: "rvm_path", below: [".rvm"] },
  { variable: "GEM_HOME", fetchedFrom: "rubygems.org" },
  { variable: "GOROOT" },
  { variable: "GOENV", below: [".config/go/env"] },
  { variable: "GOENV_ROOT", below: [".goenv"] },
  { variable: "ASDF_DIR", below: [".asdf"] },
  { variable: "ASDF_DATA_DIR", below: [".asdf"] },
  { variable: "MISE_DATA_DIR", below: [".local/share/mise"] },
  { variable: "MISE_CONFIG_DIR", below: [".config/mise"] },
  { variable: "SDKMAN_DIR", below: [".sdkman"] },
  { variable: "JENV_ROOT", below: [".jenv"] },
  { variable: "JAVA_HOME" },
  { variable: "MAVEN_HOME" },
  { variable: "GRADLE_HOME" },
  { variable: "ANDROID_HOME", below: ["Android/Sdk"] },
  { variable: "DOTNET_ROOT", below: [".dotnet"] },
  { variable: "GHCUP_INSTALL_BASE_PREFIX", isOnlyShown: true },
  { variable: "OPAMROOT", below: [".opam"] },
  { variable: "ELAN_HOME", below: [".elan"] },
  // Certificates of a proxy between the user and the network: downloads are checked against them.
  { variable: "NODE_EXTRA_CA_CERTS" },
  { variable: "SSL_CERT_FILE" },
  { variable: "SSL_CERT_DIR" },
  { variable: "CURL_CA_BUNDLE" },
  { variable: "REQUESTS_CA_BUNDLE" },
  { variable: "GIT_SSL_CAINFO" },
];

/** Variables of Go. Go is shown as much of these places as a task can use. */
const GO_VARIABLES = ["GOPATH", "GOMODCACHE"];

/**
 * In the user's own settings, for our own processes, which find the tools later. Only paths: any other value
 * could be a secret.
 */
export function toolVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const names = [...TOOL_PLACES.map(({ variable }) => variable), ...GO_VARIABLES];
  return Object.fromEntries(names.flatMap((name) => (env[name]?.startsWith("/") ? [[name, env[name]]] : [])));
}

/** Files that choose a version, for tools that search from the checkout upward. */
export const VERSION_FILES: readonly string[] = [
  ".tool-versions",
  ".node-version",
  ".nvmrc",
  ".python-version",
  ".ruby-version",
  ".java-version",
];
