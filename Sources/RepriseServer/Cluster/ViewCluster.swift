import Foundation
import RepriseCore

/// Which cluster a view is of: its name, in the file `view.cluster` beside it.
///
/// So a name that is misspelt is refused before a journal is made under it.
package enum ViewCluster {
    private static func file(in folder: String) -> String { folder + "/view.cluster" }

    /// The name in a folder; nil if there is none, as an earlier version has left it.
    private static func name(in folder: String) -> ClusterName? {
        guard let handle = FileHandle(forReadingAtPath: file(in: folder)) else { return nil }
        defer { try? handle.close() }
        let bytes = try? handle.read(upToCount: 64)
        let text = String(decoding: bytes ?? Data(), as: UTF8.self)
        return try? ClusterName(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Refuses a folder with the view of another cluster.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    package static func expect(_ cluster: ClusterName, in folder: String) throws {
        guard let found = name(in: folder), found != cluster,
            FileManager.default.fileExists(atPath: folder + "/\(ServerDatabase.view.file).sqlite")
        else { return }
        throw RepriseError(
            .badConfiguration,
            "The view in \(folder) is of the cluster \(found.text), and --cluster is "
                + "\(cluster.text).",
            remedy: "Check the spelling first. Only if \(cluster.text) is meant, remove the view, "
                + "or give --data another folder.")
    }

    /// Notes the name; a failure costs a better error.
    static func note(_ cluster: ClusterName, in folder: String) {
        guard name(in: folder) != cluster else { return }
        try? Data((cluster.text + "\n").utf8).write(to: URL(fileURLWithPath: file(in: folder)))
    }

    /// The journal that a gateway has reached is not that of its view.
    static func isOther(in folder: String, _ cluster: ClusterName?) -> RepriseError {
        let isNamed = cluster != nil && name(in: folder) == cluster
        let asked = cluster.map { "the cluster \($0.text)" } ?? "this cluster"
        return RepriseError(
            .badConfiguration,
            isNamed
                ? "The view in \(folder) is of another journal than \(asked) has now: that was made "
                    + "anew or restored, or is in another NATS."
                : "The view in \(folder) is of another journal than that of \(asked).",
            remedy: "Check "
                + (isNamed ? "--log" : "the spelling of --cluster, and --log,")
                + " first. Only if this journal is meant, remove the view: it is made anew from it."
        )
    }
}
