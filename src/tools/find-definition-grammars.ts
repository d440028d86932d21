/** What a definition looks like in the syntax trees of each language, as data. */

/** 0: a definition; 1: a member or a declaration without body; 2: local or a guess, shown when there is nothing better. */
export type Rank = 0 | 1 | 2;

export interface Form {
  readonly kind: string;
  /** Field that holds the name, `first`: the first named child, `any`: any child. */
  readonly field: string;
  readonly rank: Rank;
  /** Without this field it only mentions the name, e.g. `struct a *x`. */
  readonly needs?: string;
  /** The named child is the definition, not the whole node, e.g. a member in an enum's body. */
  readonly childOnly?: true;
  /** Only where the field has one of these texts, e.g. Ruby's `attr_reader :a`. */
  readonly where?: { readonly field: string; readonly texts: readonly string[] };
}

export interface Grammar {
  /** Name of the file in the grammar package, without `tree-sitter-` and ending. */
  readonly wasm: string;
  readonly forms: Readonly<Record<string, Form>>;
  /** Nodes between a name and its form, each with the field that leads to the name: C's `*name[3]`. */
  readonly wrappers: Readonly<Record<string, string>>;
  /** Nodes that give what is inside them a qualifier, with the field that holds it. */
  readonly holders: Readonly<Record<string, string>>;
  /** Inside these a variable is local. */
  readonly functions: readonly string[];
  /** Nodes around a definition whose first line is shown with it: `export`, decorators. */
  readonly frames: readonly string[];
}

function form(kind: string, field = "name", rank: Rank = 0): Form {
  return { kind, field, rank };
}

const SCRIPT_FUNCTIONS = [
  ...["function_declaration", "generator_function_declaration", "function_expression", "arrow_function"],
  ...["generator_function", "method_definition", "class_static_block"],
];

const SCRIPT: Omit<Grammar, "wasm"> = {
  forms: {
    function_declaration: form("function"),
    generator_function_declaration: form("function"),
    function_expression: form("function", "name", 2),
    function_signature: form("function", "name", 1),
    class_declaration: form("class"),
    abstract_class_declaration: form("class"),
    class: form("class"),
    interface_declaration: form("interface"),
    type_alias_declaration: form("type"),
    enum_declaration: form("enum"),
    enum_body: { ...form("member", "name", 1), childOnly: true },
    enum_assignment: form("member", "name", 1),
    internal_module: form("namespace"),
    module: form("module"),
    method_definition: form("method"),
    method_signature: form("method", "name", 1),
    abstract_method_signature: form("method", "name", 1),
    public_field_definition: form("field", "name", 1),
    field_definition: form("field", "property", 1),
    property_signature: form("property", "name", 1),
    variable_declarator: form("variable"),
    pair: form("property", "key", 2),
    assignment_expression: form("assignment", "left", 2),
  },
  wrappers: { member_expression: "property" },
  holders: {
    class_declaration: "name",
    abstract_class_declaration: "name",
    class: "name",
    interface_declaration: "name",
    enum_declaration: "name",
    internal_module: "name",
    function_declaration: "name",
    method_definition: "name",
    variable_declarator: "name",
    type_alias_declaration: "name",
    pair: "key",
  },
  functions: SCRIPT_FUNCTIONS,
  frames: ["lexical_declaration", "variable_declaration", "ambient_declaration", "export_statement"],
};

const PYTHON: Grammar = {
  wasm: "python",
  forms: {
    function_definition: form("function"),
    class_definition: form("class"),
    assignment: form("variable", "left"),
    type_alias_statement: form("type", "left"),
  },
  wrappers: { attribute: "attribute", type: "any", pattern_list: "any", generic_type: "first" },
  holders: { class_definition: "name", function_definition: "name" },
  functions: ["function_definition", "lambda"],
  frames: ["decorated_definition"],
};

const GO: Grammar = {
  wasm: "go",
  forms: {
    function_declaration: form("function"),
    method_declaration: form("method"),
    method_elem: form("method", "name", 1),
    type_spec: form("type"),
    type_alias: form("type"),
    const_spec: form("constant"),
    var_spec: form("variable"),
    field_declaration: form("field", "name", 1),
    short_var_declaration: form("variable", "left", 2),
  },
  wrappers: { expression_list: "any" },
  holders: { type_spec: "name" },
  functions: ["function_declaration", "method_declaration", "func_literal"],
  frames: ["type_declaration", "const_declaration", "var_declaration"],
};

const RUST: Grammar = {
  wasm: "rust",
  forms: {
    function_item: form("function"),
    function_signature_item: form("function", "name", 1),
    struct_item: form("struct"),
    enum_item: form("enum"),
    union_item: form("union"),
    trait_item: form("trait"),
    type_item: form("type"),
    associated_type: form("type", "name", 1),
    const_item: form("constant"),
    static_item: form("variable"),
    mod_item: form("module"),
    macro_definition: form("macro"),
    enum_variant: form("member", "name", 1),
    field_declaration: form("field", "name", 1),
    let_declaration: form("variable", "pattern", 2),
  },
  wrappers: {},
  holders: {
    impl_item: "type",
    trait_item: "name",
    mod_item: "name",
    enum_item: "name",
    struct_item: "name",
  },
  functions: ["function_item", "closure_expression"],
  frames: [],
};

const JAVA: Grammar = {
  wasm: "java",
  forms: {
    class_declaration: form("class"),
    interface_declaration: form("interface"),
    enum_declaration: form("enum"),
    record_declaration: form("record"),
    annotation_type_declaration: form("annotation"),
    method_declaration: form("method"),
    constructor_declaration: form("constructor"),
    compact_constructor_declaration: form("constructor"),
    annotation_type_element_declaration: form("method", "name", 1),
    enum_constant: form("member", "name", 1),
    field_declaration: form("field", "declarator", 1),
    constant_declaration: form("constant", "declarator", 1),
    local_variable_declaration: form("variable", "declarator", 2),
  },
  wrappers: { variable_declarator: "name" },
  holders: {
    class_declaration: "name",
    interface_declaration: "name",
    enum_declaration: "name",
    record_declaration: "name",
    annotation_type_declaration: "name",
  },
  functions: ["method_declaration", "constructor_declaration", "lambda_expression"],
  frames: [],
};

const C: Grammar = {
  wasm: "c",
  forms: {
    function_definition: form("function", "declarator"),
    declaration: form("variable", "declarator"),
    type_definition: form("type", "declarator"),
    struct_specifier: { ...form("struct"), needs: "body" },
    union_specifier: { ...form("union"), needs: "body" },
    enum_specifier: { ...form("enum"), needs: "body" },
    enumerator: form("member", "name", 1),
    field_declaration: form("field", "declarator", 1),
    preproc_def: form("macro"),
    preproc_function_def: form("macro"),
  },
  wrappers: {
    pointer_declarator: "declarator",
    function_declarator: "declarator",
    array_declarator: "declarator",
    init_declarator: "declarator",
    parenthesized_declarator: "any",
    attributed_declarator: "first",
  },
  holders: { struct_specifier: "name", union_specifier: "name", enum_specifier: "name" },
  functions: ["function_definition"],
  frames: [],
};

const CPP: Grammar = {
  ...C,
  wasm: "cpp",
  forms: {
    ...C.forms,
    class_specifier: { ...form("class"), needs: "body" },
    namespace_definition: form("namespace"),
    alias_declaration: form("type"),
    concept_definition: form("concept"),
  },
  wrappers: {
    ...C.wrappers,
    reference_declarator: "any",
    qualified_identifier: "name",
    template_function: "name",
    destructor_name: "any",
  },
  holders: { ...C.holders, class_specifier: "name", namespace_definition: "name" },
  functions: ["function_definition", "lambda_expression"],
  frames: ["template_declaration"],
};

const RUBY: Grammar = {
  wasm: "ruby",
  forms: {
    method: form("method"),
    singleton_method: form("method"),
    class: form("class"),
    module: form("module"),
    assignment: form("variable", "left"),
    call: {
      ...form("attribute", "arguments", 1),
      where: { field: "method", texts: ["attr_accessor", "attr_reader", "attr_writer", "define_method"] },
    },
  },
  wrappers: { argument_list: "any", scope_resolution: "name" },
  holders: { class: "name", module: "name" },
  functions: ["method", "singleton_method", "block", "do_block"],
  frames: [],
};

const PHP: Grammar = {
  wasm: "php",
  forms: {
    function_definition: form("function"),
    method_declaration: form("method"),
    class_declaration: form("class"),
    interface_declaration: form("interface"),
    trait_declaration: form("trait"),
    enum_declaration: form("enum"),
    enum_case: form("member", "name", 1),
    const_element: form("constant", "first"),
    property_element: form("field", "name", 1),
    assignment_expression: form("variable", "left"),
  },
  wrappers: { variable_name: "any" },
  holders: {
    class_declaration: "name",
    interface_declaration: "name",
    trait_declaration: "name",
    enum_declaration: "name",
  },
  functions: ["function_definition", "method_declaration", "anonymous_function"],
  frames: ["const_declaration", "property_declaration"],
};

const C_SHARP: Grammar = {
  wasm: "c_sharp",
  forms: {
    class_declaration: form("class"),
    struct_declaration: form("struct"),
    interface_declaration: form("interface"),
    enum_declaration: form("enum"),
    record_declaration: form("record"),
    delegate_declaration: form("delegate"),
    method_declaration: form("method"),
    local_function_statement: form("function"),
    constructor_declaration: form("constructor"),
    property_declaration: form("property", "name", 1),
    enum_member_declaration: form("member", "name", 1),
    field_declaration: form("field", "any", 1),
    event_field_declaration: form("event", "any", 1),
    local_declaration_statement: form("variable", "any", 2),
  },
  wrappers: { variable_declarator: "name", variable_declaration: "any" },
  holders: {
    namespace_declaration: "name",
    class_declaration: "name",
    struct_declaration: "name",
    interface_declaration: "name",
    enum_declaration: "name",
    record_declaration: "name",
  },
  functions: ["method_declaration", "constructor_declaration", "lambda_expression"],
  frames: [],
};

export const GRAMMARS = {
  javascript: { ...SCRIPT, wasm: "javascript" },
  typescript: { ...SCRIPT, wasm: "typescript" },
  tsx: { ...SCRIPT, wasm: "tsx" },
  python: PYTHON,
  go: GO,
  rust: RUST,
  java: JAVA,
  c: C,
  cpp: CPP,
  ruby: RUBY,
  php: PHP,
  csharp: C_SHARP,
} as const satisfies Readonly<Record<string, Grammar>>;

export type Language = keyof typeof GRAMMARS;

const ENDINGS: Readonly<Record<Language, string>> = {
  javascript: "js jsx mjs cjs",
  typescript: "ts mts cts",
  tsx: "tsx",
  python: "py pyi",
  go: "go",
  rust: "rs",
  java: "java",
  c: "c",
  cpp: "cc cpp cxx hh hpp hxx ipp",
  ruby: "rb rake",
  php: "php",
  csharp: "cs",
};

const CPP_ONLY = /^\s*(?:class|namespace|template|using)\b/m;

/** By the file's ending; a header is C++ when it uses words of it. Null: no grammar, only patterns. */
export function languageOf(path: string, text: string): Language | null {
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  if (ending === "h") return CPP_ONLY.test(text) ? "cpp" : "c";
  for (const [language, endings] of Object.entries(ENDINGS)) {
    if (endings.split(" ").includes(ending)) return language as Language;
  }
  return null;
}
