import Foundation
import TestSupport

extension WebAnswer {
  /// The one `h1`; nil if there is none, or if there are several.
  package var heading: String? {
    let parts = body.components(separatedBy: "<h1>")
    return parts.count == 2 ? parts[1].components(separatedBy: "</h1>")[0] : nil
  }

  /// Returns the value of an attribute of the first element that contains `marker`; with entities, as it stands there.
  package func attribute(_ name: String, ofElementWith marker: String) -> String? {
    guard let place = body.range(of: marker),
      let start = body[..<place.lowerBound].lastIndex(of: "<"), let end = body[place.lowerBound...].firstIndex(of: ">")
    else { return nil }
    let element = body[start..<end]
    guard let value = element.range(of: " \(name)=\"") else { return nil }
    return String(element[value.upperBound...].prefix { $0 != "\"" })
  }
}
