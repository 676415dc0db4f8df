import EventLoop
package import Program
package import Sidecar

/// The push gateway of Matrix, with the setting `MARTLET_MATRIX`: docs/http/matrix-api.md.
package enum MatrixPart: Part {
  package static let settings: Set = ["MATRIX"]

  package static func add(to sidecar: inout SidecarConfiguration, _ reader: inout EnvironmentReader) {
    guard let file = MatrixFile(&reader) else { return }
    let apps = file.read(&reader)
    sidecar.apis.append { MatrixAPI($0, file, apps) }
  }
}
