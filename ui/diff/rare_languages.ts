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

/** The names or ends of files, the grammar by its language, and the languages inside it. */
type Rare = [files: string, grammar: Record<string, LanguageFn>, inside?: string[]];

const RARE: Rare[] = [
  ["adb ads", { ada }],
  [".htaccess httpd.conf", { apache }],
  ["adoc asciidoc", { asciidoc }],
  ["awk", { awk }],
  ["clj cljs cljc edn", { clojure }],
  ["cmake cmakelists.txt", { cmake }],
  ["coffee", { coffeescript }],
  ["cr", { crystal }],
  ["d", { d }],
  ["dart", { dart }],
  ["pas dpr", { delphi }],
  ["diff patch", { diff }],
  ["bat cmd", { dos }],
  ["ex exs", { elixir }],
  ["elm", { elm }],
  ["erb", { erb }, ["xml", "ruby"]],
  ["erl hrl", { erlang }],
  ["f90 f95 f03", { fortran }],
  ["fs fsi fsx", { fsharp }],
  ["feature", { gherkin }],
  ["glsl vert frag", { glsl }],
  ["gradle", { gradle }],
  ["groovy jenkinsfile", { groovy }],
  ["haml", { haml }, ["ruby"]],
  ["hbs handlebars", { handlebars }, ["xml"]],
  ["hs", { haskell }],
  ["hx", { haxe }],
  ["http", { http }],
  ["jl", { julia }],
  ["tex sty", { latex }],
  ["less", { less }],
  ["lisp el", { lisp }],
  ["m", { matlab }],
  ["nginx.conf", { nginx }],
  ["nim", { nim }],
  ["nix", { nix }],
  ["mm", { objectivec }],
  ["ml mli", { ocaml }],
  ["ps1 psm1 psd1", { powershell }],
  ["prolog", { prolog }],
  ["properties", { properties }],
  ["proto", { protobuf }],
  ["pp", { puppet }],
  ["r", { r }],
  ["scala sbt", { scala }],
  ["scm rkt", { scheme }],
  ["styl", { stylus }],
  ["tcl", { tcl }],
  ["thrift", { thrift }],
  ["twig", { twig }, ["xml"]],
  ["vb", { vbnet }],
  ["v sv", { verilog }],
  ["vhd vhdl", { vhdl }],
  ["vim .vimrc", { vim }],
  ["wat", { wasm }],
];

const BY_NAME = new Map(
  RARE.flatMap(([files, named, inside = []]) => {
    const [[language, grammar]] = Object.entries(named) as [[string, LanguageFn]];
    return files.split(" ").map((name) => [name, { language, grammar, inside }] as const);
  }),
);

/** The language of files with this name or ending in lower case; null for an unknown one. */
export function rareLanguage(
  name: string,
): { language: string; grammar: LanguageFn; inside: string[] } | null {
  return BY_NAME.get(name) ?? null;
}
