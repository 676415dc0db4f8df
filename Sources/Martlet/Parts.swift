import Gorush
import Matrix
import Program

/// The parts of the program. It can be built without any of them: `Tests/Parts/check-parts`.
enum Parts {
  static let all: [any Part.Type] = [
    MatrixPart.self,
    GorushPart.self,
  ]

  static let settings = all.reduce(into: Set<String>()) { $0.formUnion($1.settings) }
}
