#if canImport(Glibc)
  import Glibc
#endif

/// Conversions of ISO 8601 times such as `2026-01-31T09:30:00.250+01:00`.
public enum Timestamp {
  /// Year 9999, in unix milliseconds.
  public static let maximum: Int64 = 253_402_300_799_999
  /// A unix time below this is in seconds, any other in milliseconds: it is the year 5138 in seconds, and 1973 in milliseconds.
  public static let firstMilliseconds: Int64 = 100_000_000_000

  /// Times from here on are in microseconds, those from a thousand times as much on in nanoseconds.
  public static let firstMicroseconds = firstMilliseconds * 1000

  /// Returns unix milliseconds of a unix time in seconds, milliseconds, microseconds or nanoseconds, whichever it must be: two
  /// of these units are never both between 1973 and 5138.
  public static func milliseconds(of time: Int64) -> Int64 {
    switch time {
    case ...0: time
    case ..<firstMilliseconds: time * 1000
    case ..<firstMicroseconds: time
    case ..<(firstMicroseconds * 1000): time / 1000
    default: time / 1_000_000
    }
  }

  /// Returns the unix milliseconds of an ISO 8601 date and time with a zone (`Z`, `+hh:mm`, `+hhmm`).
  ///
  /// Seconds and a fraction of up to 9 digits are optional; years are 1970 to 9999. Returns nil for anything else,
  /// including dates that do not exist.
  public static func milliseconds(_ text: String) -> Int64? {
    var digits = Digits(Array(text.utf8))
    guard let year = digits.number(4), year >= 1970, digits.take("-"),
      let month = digits.number(2), (1...12).contains(month), digits.take("-"),
      let day = digits.number(2), day >= 1, day <= days(in: month, of: year), digits.take("T"),
      let hour = digits.number(2), hour < 24, digits.take(":"),
      let minute = digits.number(2), minute < 60
    else { return nil }
    var milliseconds = (((day1970(year, month, day) * 24 + hour) * 60 + minute) * 60) * 1000
    if digits.take(":") {
      guard let second = digits.number(2), second < 60 else { return nil }
      milliseconds += second * 1000
      if digits.take(".") {
        guard let fraction = digits.fraction() else { return nil }
        milliseconds += fraction
      }
    }
    guard let zone = zone(&digits), digits.isAtEnd else { return nil }
    return Int64(milliseconds - zone * 60_000)
  }

  /// Minutes east of Greenwich.
  private static func zone(_ digits: inout Digits) -> Int? {
    if digits.take("Z") { return 0 }
    let sign = digits.take("+") ? 1 : digits.take("-") ? -1 : 0
    guard sign != 0, let hours = digits.number(2), hours < 24 else { return nil }
    _ = digits.take(":")
    guard let minutes = digits.number(2), minutes < 60 else { return nil }
    return sign * (hours * 60 + minutes)
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1 January 1970 in the Gregorian calendar.
  private static func day1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let before = year - 1
    let leapDays = before / 4 - before / 100 + before / 400 - 477
    let months = (1..<month).reduce(0) { $0 + days(in: $1, of: year) }
    return (year - 1970) * 365 + leapDays + months + day - 1
  }

  private struct Digits {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
    }

    var isAtEnd: Bool { index == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard index < bytes.count, UInt32(bytes[index]) == character.value else { return false }
      index += 1
      return true
    }

    mutating func number(_ count: Int) -> Int? {
      var number = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    /// Returns milliseconds; finer digits are dropped.
    mutating func fraction() -> Int? {
      var milliseconds = 0
      var weight = 100
      var count = 0
      while let digit = digit() {
        milliseconds += digit * weight
        weight /= 10
        count += 1
      }
      return (1...9).contains(count) ? milliseconds : nil
    }

    private mutating func digit() -> Int? {
      guard index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 else { return nil }
      index += 1
      return Int(bytes[index - 1] & 0x0F)
    }
  }
}

extension Timestamp {
  /// Returns unix milliseconds as `2023-12-01T10:00:00.000Z`. Times before 1970 or after 9999 are clamped.
  public static func text(_ milliseconds: Int64) -> String {
    let time = min(max(milliseconds, 0), maximum)
    var seconds = time_t(time / 1000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    return String(unsafeUninitializedCapacity: 32) { text in
      text.withMemoryRebound(to: CChar.self) { strftime($0.baseAddress, $0.count, "%Y-%m-%dT%H:%M:%S", &parts) }
    } + ".\(String(1000 + time % 1000).dropFirst())Z"
  }
}
