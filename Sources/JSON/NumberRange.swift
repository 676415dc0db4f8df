/// The ranges of numbers from outside: from Redis, HTTP, APNs, files and settings.
///
/// Arithmetic traps where a result does not fit. So no such number becomes an `Int` without a range, and sums of many
/// thousand of them, or their products with 1,000, fit.
public enum NumberRange {
  public static let counts: ClosedRange<Int64> = 0...1 << 48
  /// Unix milliseconds.
  public static let times: ClosedRange<Int64> = 0...Timestamp.maximum
  /// Of anything in a second.
  public static let rates: ClosedRange<Double> = 0...Double(1 << 48)
}

extension JSONValue {
  /// A number of things; nil for any other value.
  public var count: Int? { integer(in: NumberRange.counts).map { Int($0) } }

  /// Unix milliseconds; nil for any other value.
  public var time: Int64? { integer(in: NumberRange.times) }

  /// A number of things in a second, also with a fraction; nil for any other value.
  public var rate: Double? { number(in: NumberRange.rates) }

  /// An integer in a range, written without fraction and exponent; nil for any other value.
  public func integer(in range: ClosedRange<Int64>) -> Int64? {
    guard case .integer(let integer) = self, range.contains(integer) else { return nil }
    return integer
  }

  /// A number in a range; nil for any other value.
  public func number(in range: ClosedRange<Double>) -> Double? {
    switch self {
    case .integer(let integer) where range.contains(Double(integer)): Double(integer)
    case .number(let number) where range.contains(number): number
    default: nil
    }
  }
}

extension StringProtocol {
  /// Reads decimal digits. Returns nil for any other text, and for a number that is not in the range.
  @inlinable
  public func integer<Integer: FixedWidthInteger>(in range: ClosedRange<Integer>) -> Integer? {
    guard utf8.allSatisfy({ (0x30...0x39).contains($0) }), let integer = Integer(self), range.contains(integer) else {
      return nil
    }
    return integer
  }

  /// Reads a decimal number. Returns nil for any other text, and for a number that is not in the range.
  public func number(in range: ClosedRange<Double>) -> Double? {
    guard let number = Double(self), range.contains(number) else { return nil }
    return number
  }
}

extension Double {
  /// The number rounded towards zero; nil if it is not in the range, which is within ±2^53.
  public func integer(in range: ClosedRange<Int64>) -> Int64? {
    Double(range.lowerBound) <= self && self <= Double(range.upperBound) ? Int64(self) : nil
  }
}
