/// Which one of a job's attempts it is: a later one has a larger turn, however the clocks of the workers differ.
///
/// A worker that was taken for dead can write after its successor. What both write has the turn, and that with the larger one stays.
public struct AttemptTurn: Sendable, Hashable, Comparable {
  /// How often an operator has requeued the job.
  private let requeues: Int32
  /// Attempts that were followed by a retry, since then.
  private let attempts: Int32
  /// Workers that died with the job, since then.
  private let crashes: Int32

  /// Three numbers of five digits, and two dots.
  private static let maximumBytes = 17

  /// The turn of a first attempt.
  public init() { self.init(requeues: 0, attempts: 0, crashes: 0) }

  public init(requeues: Int, attempts: Int, crashes: Int) {
    self.requeues = Int32(clamping: requeues)
    self.attempts = Int32(clamping: attempts)
    self.crashes = Int32(clamping: crashes)
  }

  /// Reads ``text``. Anything else is the first turn.
  public init(_ text: String?) {
    var numbers = [0]
    for byte in (text ?? "").utf8.prefix(AttemptTurn.maximumBytes) {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        numbers[numbers.count - 1] *= 10
        numbers[numbers.count - 1] += Int(byte & 0x0F)
      default: numbers.append(0)
      }
    }
    self =
      numbers.count == 3 ? AttemptTurn(requeues: numbers[0], attempts: numbers[1], crashes: numbers[2]) : AttemptTurn()
  }

  /// `0.2.1`: requeues, attempts, crashes. Nil for a first attempt, which needs none.
  public var text: String? { self == AttemptTurn() ? nil : "\(requeues).\(attempts).\(crashes)" }

  public static func < (left: AttemptTurn, right: AttemptTurn) -> Bool {
    (left.requeues, left.attempts, left.crashes) < (right.requeues, right.attempts, right.crashes)
  }

  /// Lua: `isEarlier(a, b)` compares the turns of two values, each JSON with the member `turn` or without.
  package static let comparing = """
    local function isEarlier(a, b)
      local function parts(value) return {string.match(tostring(value.turn), '^(%d+)%.(%d+)%.(%d+)$')} end
      local mine, others = parts(a), parts(b)
      for place = 1, 3 do
        local one, two = tonumber(mine[place] or 0), tonumber(others[place] or 0)
        if one ~= two then return one < two end
      end
      return false
    end
    """
}
