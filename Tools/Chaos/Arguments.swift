/// The command line of `martlet-chaos`.
struct Arguments: Equatable {
  /// Nil for a random one.
  var seed: UInt64?
  var faults = 60
  var workers = 4
  var perSecond = 100
  /// Where the evidence is kept if an invariant is broken, in a directory for each run.
  var artifacts = ".build/chaos"
  var layout = RedisLayout.sentinels
  /// Nil for all kinds of the layout.
  var kinds: [FaultKind]?
  /// Whether users are taken for each other on purpose.
  var crosses = false
  var wantsPlan = false
  var isVerbose = false
  var wantsHelp = false

  static let usage = """
    Usage: martlet-chaos [options]
    Runs a fleet of real workers, Redis and a simulated APNs, injects faults, and judges from outside whether every
    promise was kept. Ends with 0 if so, with 1 if not, with 2 for a wrong command line, with 4 if the run cannot be judged
    because servers or faults were not as planned. The same seed gives the same faults.

      --seed N         of the plan (a random one)
      --faults N       how many (60)
      --cluster        Redis is a cluster, which also fails over and moves its slots
      --workers N      2 to 16 (4)
      --rate N         jobs per second (100)
      --only NAMES     kinds of faults, separated by commas (all); --plan prints their names
      --artifacts DIR  where the evidence is kept if an invariant is broken, in a directory for each run (.build/chaos)
      --cross          take users for each other on purpose, which the judge must find
      --plan           print the plan and end
      --verbose        print each fault when it begins
      --help

    """

  init() {}

  /// Parses `arguments`, which exclude the program's name.
  init(parsing arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    var names: String?
    while let option = rest.popFirst() {
      switch option {
      case "--plan": wantsPlan = true
      case "--cross": crosses = true
      case "--verbose": isVerbose = true
      case "--cluster": layout = .cluster
      case "--help", "-h": wantsHelp = true
      case "--seed", "--faults", "--workers", "--rate", "--only", "--artifacts":
        guard let value = rest.popFirst() else { throw UsageError("\(option) needs a value") }
        if option == "--only" { names = value } else { try set(option, value) }
      default: throw UsageError("unknown option \(option)")
      }
    }
    kinds = if let names { try Arguments.kinds(names, of: layout) } else { nil }
  }

  private mutating func set(_ option: String, _ value: String) throws(UsageError) {
    switch option {
    case "--seed": seed = UInt64(try Arguments.number(option, value, 0...1_000_000_000_000))
    case "--faults": faults = try Arguments.number(option, value, 1...10_000)
    case "--workers": workers = try Arguments.number(option, value, 2...16)
    case "--rate": perSecond = try Arguments.number(option, value, 1...5_000)
    case "--artifacts": artifacts = value
    default: preconditionFailure("\(option) is not handled")
    }
  }

  private static func kinds(_ value: String, of layout: RedisLayout) throws(UsageError) -> [FaultKind] {
    var kinds: [FaultKind] = []
    for name in value.split(separator: ",") {
      guard let kind = layout.allKinds.first(where: { "\($0)" == name }) else {
        throw UsageError(
          "--only: \"\(name)\" is not one of \(layout.allKinds.map { "\($0)" }.joined(separator: ","))")
      }
      kinds.append(kind)
    }
    guard !kinds.isEmpty else { throw UsageError("--only needs at least one kind") }
    return kinds
  }

  private static func number(_ option: String, _ value: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int {
    guard let number = Int(value), range.contains(number) else {
      throw UsageError("\(option): \"\(value)\" is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

/// An invalid command line. The text names what is expected.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
