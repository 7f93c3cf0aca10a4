/**
 * Bundles a program so that what each call of it needs is in few files, and the rest is loaded when it is
 * needed.
 *
 * For esbuild every lazy import is an entry, and modules that are shared by different entries go into
 * different chunks. So what all entries need falls apart into dozens of small files, and opening those takes
 * longer than reading them. Here every lazy module is made to import what is always loaded. That changes
 * nothing at run time, but then all entries share the same modules, and these become one chunk.
 *
 * Node's own modules are taken from `process.getBuiltinModule`, and not imported: an import reads every name
 * that a module has, and some of these load a good part of Node when they are read. That adds ten
 * milliseconds to a start.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";

/** `always`: source files that are loaded, with all their imports, before any lazy module. */
export async function bundle(options: BuildOptions, always: readonly string[]): Promise<Metafile> {
  const { metafile } = await build({ ...options, metafile: true, write: false, plugins: [builtins, apart] });
  const missing = always.find((path) => !metafile.inputs[path]);
  if (missing) throw new Error(`${missing} is not part of the program`);
  const loaded = reachedFrom(metafile, always);
  const late = [...lazyIn(metafile)].filter((path) => path.startsWith("src/") && !loaded.has(path));
  const plugins = [builtins, apart, importing(always, new Set(late.map((path) => resolve(path))))];
  // The imports are dropped again, as they should be: they only decide which chunks there are.
  const logOverride = { "ignored-bare-import": "silent" } as const;
  return (await build({ ...options, metafile: true, plugins, logOverride })).metafile;
}

/** For programs that are started often. */
export const builtins: Plugin = {
  name: "Node's own modules",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "builtin" } : undefined,
    );
    onLoad({ filter: /./, namespace: "builtin" }, ({ path }) => ({ contents: readingOnly(path) }));
  },
};

/** Loaded before the program that imports it: a bundle by itself, beside the program. */
const apart: Plugin = {
  name: "what is loaded first",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/host\/early\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "../host/early.js", external: true } : undefined,
    ),
};

/** Exported names that nothing imports are dropped, and so not read. */
function readingOnly(path: string): string {
  const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => name !== "default");
  const readings = names.map((name) => `export const ${name} = /* @__PURE__ */ (() => own.${name})();`);
  return [
    `const own = process.getBuiltinModule(${JSON.stringify(path)});`,
    ...readings,
    "export default own;",
  ].join("\n");
}

function reachedFrom({ inputs }: Metafile, begin: readonly string[]): ReadonlySet<string> {
  const reached = new Set(begin);
  for (const path of reached)
    for (const { path: other, kind } of inputs[path]?.imports ?? [])
      if (kind !== "dynamic-import") reached.add(other);
  return reached;
}

function lazyIn({ inputs }: Metafile): ReadonlySet<string> {
  const imports = Object.values(inputs).flatMap((input) => input.imports);
  return new Set(imports.filter(({ kind }) => kind === "dynamic-import").map(({ path }) => path));
}

function importing(always: readonly string[], late: ReadonlySet<string>): Plugin {
  const imports = always.map((path) => `import ${JSON.stringify(resolve(path))};`).join("\n");
  return {
    name: "what is always loaded",
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.ts$/ }, ({ path }) =>
        late.has(path)
          ? { contents: `${readFileSync(path, "utf8")}\n${imports}`, loader: "ts" as const }
          : undefined,
      ),
  };
}
