package import Foundation
import RepriseCore

/// The folder that an app shares with its extensions on iOS: no place for a journal.
package enum AppGroupContainer {
    /// Refuses a journal's folder in the container of an app group.
    ///
    /// - Parameter folder: the folder of the journal, or of the accounts' journals.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    package static func refuse(_ folder: URL) throws {
        guard folder.standardizedFileURL.path.contains("/Containers/Shared/AppGroup/") else {
            return
        }
        throw RepriseError(
            .badConfiguration,
            "The journal is in the container of an app group: iOS kills an app that is suspended "
                + "while it has a file locked there (0xdead10cc).",
            remedy: "Leave configuration.folder; configuration.appGroup is for extensions.")
    }
}
