import Foundation
import RepriseTesting

/// A server makes its data folder itself: ``path`` is not there yet.
extension TemporaryFolder {
    var path: String { appending("data").path }

    /// What lies in the data folder, sorted.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    /// Removes it now; a call at the end of a test keeps it until then.
    func remove() { try? FileManager.default.removeItem(at: url) }
}
