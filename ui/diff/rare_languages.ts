import type { LanguageFn } from "highlight.js";
import ada from "highlight.js/lib/languages/ada";
import apache from "highlight.js/lib/languages/apache";
import asciidoc from "highlight.js/lib/languages/asciidoc";
import awk from "highlight.js/lib/languages/awk";
import clojure from "highlight.js/lib/languages/clojure";
import cmake from "highlight.js/lib/languages/cmake";
import coffeescript from "highlight.js/lib/languages/coffeescript";
import crystal from "highlight.js/lib/languages/crystal";
import d from "highlight.js/lib/languages/d";
import dart from "highlight.js/lib/languages/dart";
import delphi from "highlight.js/lib/languages/delphi";
import diff from "highlight.js/lib/languages/diff";
import dos from "highlight.js/lib/languages/dos";
import elixir from "highlight.js/lib/languages/elixir";
import elm from "highlight.js/lib/languages/elm";
import erb from "highlight.js/lib/languages/erb";
import erlang from "highlight.js/lib/languages/erlang";
import fortran from "highlight.js/lib/languages/fortran";
import fsharp from "highlight.js/lib/languages/fsharp";
import gherkin from "highlight.js/lib/languages/gherkin";
import glsl from "highlight.js/lib/languages/glsl";
import gradle from "highlight.js/lib/languages/gradle";
import groovy from "highlight.js/lib/languages/groovy";
import haml from "highlight.js/lib/languages/haml";
import handlebars from "highlight.js/lib/languages/handlebars";
import haskell from "highlight.js/lib/languages/haskell";
import haxe from "highlight.js/lib/languages/haxe";
import http from "highlight.js/lib/languages/http";
import julia from "highlight.js/lib/languages/julia";
import latex from "highlight.js/lib/languages/latex";
import less from "highlight.js/lib/languages/less";
import lisp from "highlight.js/lib/languages/lisp";
import matlab from "highlight.js/lib/languages/matlab";
import nginx from "highlight.js/lib/languages/nginx";
import nim from "highlight.js/lib/languages/nim";
import nix from "highlight.js/lib/languages/nix";
import objectivec from "highlight.js/lib/languages/objectivec";
import ocaml from "highlight.js/lib/languages/ocaml";
import powershell from "highlight.js/lib/languages/powershell";
import prolog from "highlight.js/lib/languages/prolog";
import properties from "highlight.js/lib/languages/properties";
import protobuf from "highlight.js/lib/languages/protobuf";
import puppet from "highlight.js/lib/languages/puppet";
import r from "highlight.js/lib/languages/r";
import scala from "highlight.js/lib/languages/scala";
import scheme from "highlight.js/lib/languages/scheme";
import stylus from "highlight.js/lib/languages/stylus";
import tcl from "highlight.js/lib/languages/tcl";
import thrift from "highlight.js/lib/languages/thrift";
import twig from "highlight.js/lib/languages/twig";
import vbnet from "highlight.js/lib/languages/vbnet";
import verilog from "highlight.js/lib/languages/verilog";
import vhdl from "highlight.js/lib/languages/vhdl";
import vim from "highlight.js/lib/languages/vim";
import wasm from "highlight.js/lib/languages/wasm";

interface Rare {
  /** The names or ends of its files. */
  files: string;
  grammar: LanguageFn;
  /** The languages inside it. */
  inside?: string[];
}

const RARE: Record<string, Rare> = {
  ada: { files: "adb ads", grammar: ada },
  apache: { files: ".htaccess httpd.conf", grammar: apache },
  asciidoc: { files: "adoc asciidoc", grammar: asciidoc },
  awk: { files: "awk", grammar: awk },
  clojure: { files: "clj cljs cljc edn", grammar: clojure },
  cmake: { files: "cmake cmakelists.txt", grammar: cmake },
  coffeescript: { files: "coffee", grammar: coffeescript },
  crystal: { files: "cr", grammar: crystal },
  d: { files: "d", grammar: d },
  dart: { files: "dart", grammar: dart },
  delphi: { files: "pas dpr", grammar: delphi },
  diff: { files: "diff patch", grammar: diff },
  dos: { files: "bat cmd", grammar: dos },
  elixir: { files: "ex exs", grammar: elixir },
  elm: { files: "elm", grammar: elm },
  erb: { files: "erb", grammar: erb, inside: ["xml", "ruby"] },
  erlang: { files: "erl hrl", grammar: erlang },
  fortran: { files: "f90 f95 f03", grammar: fortran },
  fsharp: { files: "fs fsi fsx", grammar: fsharp },
  gherkin: { files: "feature", grammar: gherkin },
  glsl: { files: "glsl vert frag", grammar: glsl },
  gradle: { files: "gradle", grammar: gradle },
  groovy: { files: "groovy jenkinsfile", grammar: groovy },
  haml: { files: "haml", grammar: haml, inside: ["ruby"] },
  handlebars: { files: "hbs handlebars", grammar: handlebars, inside: ["xml"] },
  haskell: { files: "hs", grammar: haskell },
  haxe: { files: "hx", grammar: haxe },
  http: { files: "http", grammar: http },
  julia: { files: "jl", grammar: julia },
  latex: { files: "tex sty", grammar: latex },
  less: { files: "less", grammar: less },
  lisp: { files: "lisp el", grammar: lisp },
  matlab: { files: "m", grammar: matlab },
  nginx: { files: "nginx.conf", grammar: nginx },
  nim: { files: "nim", grammar: nim },
  nix: { files: "nix", grammar: nix },
  objectivec: { files: "mm", grammar: objectivec },
  ocaml: { files: "ml mli", grammar: ocaml },
  powershell: { files: "ps1 psm1 psd1", grammar: powershell },
  prolog: { files: "prolog", grammar: prolog },
  properties: { files: "properties", grammar: properties },
  protobuf: { files: "proto", grammar: protobuf },
  puppet: { files: "pp", grammar: puppet },
  r: { files: "r", grammar: r },
  scala: { files: "scala sbt", grammar: scala },
  scheme: { files: "scm rkt", grammar: scheme },
  stylus: { files: "styl", grammar: stylus },
  tcl: { files: "tcl", grammar: tcl },
  thrift: { files: "thrift", grammar: thrift },
  twig: { files: "twig", grammar: twig, inside: ["xml"] },
  vbnet: { files: "vb", grammar: vbnet },
  verilog: { files: "v sv", grammar: verilog },
  vhdl: { files: "vhd vhdl", grammar: vhdl },
  vim: { files: "vim .vimrc", grammar: vim },
  wasm: { files: "wat", grammar: wasm },
};

const BY_NAME = new Map(
  Object.entries(RARE).flatMap(([language, { files, grammar, inside = [] }]) =>
    files.split(" ").map((name) => [name, { language, grammar, inside }])
  ),
);

/** The language of files with this name or ending in lower case; null for an unknown one. */
export function rareLanguage(
  name: string,
): { language: string; grammar: LanguageFn; inside: string[] } | null {
  return BY_NAME.get(name) ?? null;
}
