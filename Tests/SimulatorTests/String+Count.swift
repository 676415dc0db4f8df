import Foundation

extension String {
  func count(of part: String) -> Int { components(separatedBy: part).count - 1 }
}
