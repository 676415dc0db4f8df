extension Timestamp {
  /// `2023-12-01T10:00:00.000Z` of unix milliseconds; what lies before 1970 or behind 9999 becomes the nearest time that
  /// can be written.
  public static func text(_ milliseconds: Int64) -> String {
    let time = min(max(milliseconds, 0), maximum)
    let (days, rest) = time.quotientAndRemainder(dividingBy: 86_400_000)
    let (year, month, day) = date(days)
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60)
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
      + "T\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2)).\(padded(rest % 1000, 3))Z"
  }

  /// Of a number of days since 1 January 1970 in the Gregorian calendar. Years begin in March here, so that the leap day is
  /// a year's last.
  private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (daysOfYear0, daysOf400Years): (Int64, Int64) = (719_468, 146_097)
    let (era, dayOfEra) = (days + daysOfYear0).quotientAndRemainder(dividingBy: daysOf400Years)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
  }

  private static func padded(_ number: Int64, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
