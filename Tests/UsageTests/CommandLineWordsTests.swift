import Testing

@testable import Usage

struct CommandLineWordsTests {
  private static let usage = CommandUsage(
    "martlet dead", "dead letters",
    forms: [
      CommandForm(
        "list", "list", [],
        [
          limit, .init("json", "JSON"), .init("raw", "bytes"),
          .init("role", .choice("ROLE", ["viewer", "admin"]), "role"),
        ],
        only: [["json", "raw"]]),
      CommandForm(
        "show", "show", [CommandArgument("ID")], [.init("bundle", .text("ID"), isRepeatable: true, "an app")]),
      CommandForm(
        "adopt", "adopt", [CommandArgument("KIND", of: ["user", "key"]), CommandArgument("NAME", isOptional: true)],
        [.init("id", .text("ID"), isRequired: true, "the id"), .init("scopes", .list("LIST", ["a", "b"]), "scopes")]),
    ],
    text: "Of letters.")
  private static let limit = CommandOption("limit", .number("N", 1...10), "at most this many")

  private static func fault(_ words: String) -> String? {
    do throws(UsageError) {
      _ = try CommandLineWords(words.split(separator: " ").map(String.init), usage)
      return nil
    } catch {
      return error.description
    }
  }

  @Test func `options have their values behind them or after an equals sign, and may be repeated`() throws {
    let line = try CommandLineWords(["--bundle", "x", "show", "--bundle=y=z", "b"], Self.usage)
    #expect(line.action == "show")
    #expect(line.arguments == ["b"])
    #expect(line.values("bundle") == ["x", "y=z"])
    #expect(line.value("bundle") == "y=z")
    #expect(!line.has("json"))
    #expect(line.value("limit") == nil)
    #expect(try CommandLineWords(["list", "--limit=7"], Self.usage).integer("limit") == 7)
  }

  @Test func `everything behind two hyphens is an argument, and a hyphen alone is one`() throws {
    #expect(try CommandLineWords(["show", "--", "--json"], Self.usage).arguments == ["--json"])
    #expect(try CommandLineWords(["show", "-"], Self.usage).arguments == ["-"])
  }

  @Test(arguments: [
    ("list --limt 3", "unknown option --limt; did you mean \"--limit\"?"),
    ("list --nonsense", "unknown option --nonsense"),
    ("list -l", "unknown option -l"), ("list ---json", "unknown option ---json; did you mean \"--json\"?"),
    ("list --limit", "--limit needs a value"),
    ("list --json=yes", "--json takes no value"),
    ("list --limit 11", "--limit takes a whole number from 1 to 10"),
    ("list --role boss", "--role takes viewer or admin"),
    ("list --json --raw", "--json and --raw exclude each other"), ("", "expected list, show or adopt"),
    ("lst", "expected list, show or adopt; did you mean \"list\"?"), ("show", "expected ID"),
    ("show a b", "unexpected 'b'"),
    ("show a --limit 3", "--limit is for list only"), ("adopt user a", "--id is missing"),
    ("adopt boss a --id 1", "expected user or key"),
    ("adopt user --id 1 --scopes a,c", "--scopes takes a list of a or b"),
    ("list x", "unexpected 'x'"),
  ])
  func `what a usage does not allow is named`(words: String, fault: String) {
    #expect(Self.fault(words) == fault)
  }

  @Test func `help has the ways to call a command, its text and its options`() {
    let help = Self.usage.help
    #expect(
      help.hasPrefix(
        "usage: martlet dead list [--limit N] [--json | --raw] [--role ROLE]\n       martlet dead show ID "))
    #expect(help.contains("\n       martlet dead adopt user|key [NAME] --id ID [--scopes LIST]\n\nOf letters.\n\n"))
    #expect(help.contains("\n  --limit N           at most this many\n"))
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= 120 })
  }
}
