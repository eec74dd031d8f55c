import type { Import, Source } from "./source.ts";

/** Who may import whom: one line per forbidden import. */
export interface Layer {
  /** The files it speaks of. */
  of: RegExp;
  except?: RegExp;
  /** Whether this import is one that such a file may have. */
  allows: (imported: Import, source: Source) => boolean;
}

const POLICY = /^server\/policy\//;
/** Texts of others as a person sees them, in the page, the terminal and messages. */
const SHOWN = /^server\/shown\//;
const HOSTS = /^server\/hosts\//;
const EVIDENCE = /^server\/evidence\/(bundle|canonical|chain|check|verify)\.ts$/;
/** Proofs of a person and of the daemon are made and checked in the page, the terminal and the daemon. */
const PROOF =
  /^server\/(?:proof\/(?:approval_asked|check_challenge|deed_check|encoding|explained_error|heads|history|invitation|ledger_check|not_signed|passphrase|place_check|public_key|record_check|signing_key|statement)|actions\/(?:own_code|review\/(?:accept_written|wall_rules)|show\/(?:check_shown|sandbox_text|unnamed_files))|auth\/prove_daemon)\.ts$/;
const POLICY_PARSER = "unbash";
const TOOLS = "server/actions/tools.ts";

/** The dependency rules between folders, by the sentence each stands for. */
export const LAYERS: Record<string, Layer> = {
  "schema.ts imports only zod, other schema.ts and the table of tools": {
    of: /(^|\/)schema\.ts$/,
    except: /^(cli|test)\//,
    allows: ({ specifier, file }) =>
      file === null ? specifier === "zod" : isSchema(file) || file === TOOLS,
  },
  "the table of tools imports nothing, so that every part can read it": {
    of: /^server\/actions\/tools\.ts$/,
    allows: () => false,
  },
  "server/ never imports cli/ or ui/": {
    of: /^server\//,
    allows: ({ file }) => !/^(cli|ui)\//.test(file ?? ""),
  },
  "cli/ never imports ui/": {
    of: /^cli\//,
    allows: ({ file }) => !/^ui\//.test(file ?? ""),
  },
  "cli/ reaches actions, sessions, audit and the ledger only through client.ts": {
    of: /^cli\//,
    allows: ({ file, isType }) =>
      isType || isSchema(file ?? "") || file === TOOLS || PROOF.test(file ?? "") ||
      !/^server\/(actions|sessions|grants|audit|events|db)\//.test(file ?? ""),
  },
  "nothing that ships imports test/ or dist/": {
    of: /^(server|cli|ui)\/|^mod\.ts$/,
    allows: ({ file }) => !/^(test|dist)\//.test(file ?? ""),
  },
  "cli/scenario/ imports nothing of server/": {
    of: /^cli\/scenario\//,
    allows: ({ file }) => !/^server\/|^mod\.ts$/.test(file ?? ""),
  },
  "cli/scenario/ loads no native module": {
    of: /^cli\/scenario\//,
    allows: ({ specifier }) => !/^(libsql|@libsql\/)/.test(specifier),
  },
  "ui/ sees the server only through client.ts, the types of schema.ts, the table of tools, shown/, the check of evidence and the making of a proof":
    {
      of: /^ui\//,
      allows: ({ file, isType }) =>
        !file?.startsWith("server/") || file === "server/client.ts" || file === TOOLS ||
        EVIDENCE.test(file) || PROOF.test(file) || SHOWN.test(file) ||
        (isType && isSchema(file)),
    },
  "the check of evidence runs in a browser too": {
    of: EVIDENCE,
    allows: ({ specifier, file, isType }) =>
      isType || EVIDENCE.test(file ?? "") || specifier === "canonicalize",
  },
  "the making of a proof runs in a browser too": {
    of: PROOF,
    allows: ({ specifier, file, isType }) =>
      isType || PROOF.test(file ?? "") || SHOWN.test(file ?? "") || file === TOOLS ||
      file === "server/evidence/canonical.ts" || specifier.startsWith("@noble/hashes/"),
  },
  "client.ts brings only types of the server and the check of a challenge with it": {
    of: /^server\/client\.ts$/,
    allows: ({ file, isType }) => file === null || isType || PROOF.test(file),
  },
  "only server/api.ts and app.ts import an api.ts": {
    of: /^(server|cli|ui)\/|^mod\.ts$/,
    except: /^server\/(api|app|client)\.ts$/,
    allows: ({ file }) => !/^server\/(.*\/)?api\.ts$/.test(file ?? ""),
  },
  "mcp/ reaches actions only through client.ts": {
    of: /^server\/mcp\//,
    allows: ({ file }) =>
      file === null || isSchema(file) || file === TOOLS ||
      !/^server\/(actions|db|sessions|policy)\//.test(file),
  },
  "policy/ is pure: it imports schemas, errors, shown/, the records of hosts and the parser only": {
    of: POLICY,
    except: /^server\/policy\/(api|store)\.ts$/,
    allows: ({ specifier, file }) =>
      file === null
        ? specifier === POLICY_PARSER || specifier === "zod"
        : isSchema(file) || POLICY.test(file) || HOSTS.test(file) || SHOWN.test(file) ||
          file === "server/errors.ts",
  },
  "shown/ runs in a browser too, and imports only itself": {
    of: SHOWN,
    allows: ({ file }) => SHOWN.test(file ?? ""),
  },
  "hosts/ is pure: its records import one another only": {
    of: HOSTS,
    allows: ({ file }) => HOSTS.test(file ?? ""),
  },
  "node:process is for the runtime, the entry and the build": {
    of: /^(server|cli|ui|dist)\/|^mod\.ts$/,
    except: /^server\/runtime\/|^cli\/main\.ts$|^dist\/build\.ts$/,
    allows: ({ specifier }) => !/^(node:)?process$/.test(specifier),
  },
  "commander and prompts only in cli/": {
    of: /^(server|ui|dist)\/|^mod\.ts$/,
    allows: ({ specifier }) => !/^(commander|@commander-js\/.*|@clack\/.*)$/.test(specifier),
  },
  "imports name their file with its extension": {
    of: /./,
    allows: ({ file }) => file === null || /\.\w+$/.test(file),
  },
};

/** Each import that breaks the layer, as a line for a person. */
export function breaches(layer: Layer, sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => layer.of.test(path) && !layer.except?.test(path))
    .flatMap((source) =>
      source.imports
        .filter((imported) => !layer.allows(imported, source))
        .map(({ specifier }) => `${source.path} imports ${specifier}`)
    );
}

function isSchema(file: string): boolean {
  return /(^|\/)schema\.ts$/.test(file);
}
