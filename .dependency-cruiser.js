/** The layers of ARCHITECTURE.md: imports go down only, and a folder is entered through its index. */
const tiers = [
  ["contract", "util"],
  ["journal", "process", "config", "mail", "http", "metering"],
  ["capsule", "redaction"],
  ["session"],
  ["home"],
  ["line"],
  ["network", "lane", "broker", "approval"],
  ["agent"],
  ["task"],
  ["gateway", "worker"],
  ["mcp"],
  ["upkeep"],
  ["library"],
  ["host"],
  ["dispatch"],
  ["face"],
  ["operator"],
  ["server"],
  ["cli"],
  // Nothing of ours needs it to run.
  ["testing"],
];

const above = tiers.flatMap((tier, level) =>
  tier.map((folder) => ({
    name: `${folder}-imports-down-only`,
    severity: "error",
    from: { path: `^src/${folder}/` },
    to: {
      path: `^src/(${tiers
        .slice(level)
        .flat()
        .filter((other) => other !== folder)
        // The two leaves may lean on each other: util shows what contract names.
        .filter((other) => !(level === 0 && folder === "util" && other === "contract"))
        .join("|")})/`,
    },
  })),
);

/** The parts of capsule/, likewise: a folder imports those before it only. */
const capsuleParts = [
  "files",
  "git",
  "repo",
  "store",
  "gitdir",
  "dir",
  "layer",
  "snapshot",
  "base",
  "strategy",
  "life",
  "work",
  "leftovers",
];

const insideCapsule = capsuleParts.slice(0, -1).map((part, at) => ({
  name: `capsule-${part}-imports-down-only`,
  severity: "error",
  from: { path: `^src/capsule/${part}/` },
  to: { path: `^src/capsule/(${capsuleParts.slice(at + 1).join("|")})/` },
}));

export default {
  forbidden: [
    ...above.filter(({ to }) => to.path !== "^src/()/"),
    ...insideCapsule,
    {
      name: "capsule-has-no-other-parts",
      severity: "error",
      from: {},
      to: { path: "^src/capsule/", pathNot: `^src/capsule/(index\\.ts$|(${capsuleParts.join("|")})/)` },
    },
    {
      name: "enter-through-index",
      severity: "error",
      from: { path: "^src/([^/]+)/" },
      to: {
        path: "^src/([^/]+)/.+",
        // What is loaded before the command itself is a bundle of its own.
        pathNot: ["^src/$1/", "^src/[^/]+/index\\.ts$", "^src/host/early\\.ts$"],
      },
    },
    {
      // What can sign a grant is near a person, and in no session process.
      name: "the-operator-is-a-person",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(operator|cli|server)/" },
      to: { path: "^src/operator/" },
    },
    {
      name: "processes-in-process-only",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/process/" },
      to: { path: "^(node:)?child_process$" },
    },
    {
      name: "testing-stands-alone",
      severity: "error",
      from: { path: "^src/testing/" },
      to: { path: "^src/", pathNot: "^src/(testing|contract|util)/" },
    },
    {
      name: "the-life-is-pure",
      severity: "error",
      from: { path: "^src/host/life(-table)?\\.ts$" },
      to: { dependencyTypesNot: ["type-only"] },
    },
    {
      name: "the-machine-is-pure",
      severity: "error",
      from: { path: "^src/session/(machine|state|lifecycle|history|budget|work-due|fold/[^/]+)\\.ts$" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "the-contract-is-browser-safe",
      severity: "error",
      from: { path: "^src/contract/" },
      to: { dependencyTypes: ["core"] },
    },
    { name: "no-circles", severity: "error", from: {}, to: { circular: true } },
    { name: "no-orphans", severity: "error", from: { orphan: true, path: "^src/" }, to: {} },
    { name: "no-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(node_modules|dist)/" },
  },
};
