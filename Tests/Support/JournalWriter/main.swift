// A process to be killed: writes to a journal and says on its standard output what it was promised.
//
//   JournalWriter crash FOLDER SINK records and handles as fast as it can until it is killed
//   JournalWriter hold FOLDER opens, says "open", then records one entry for each line that it
//   reads JournalWriter merge FOLDER merges the spool again and again until it is killed
//   JournalWriter lock DATABASE holds SQLite's lock for writing until it is killed

import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTesting

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { exit(64) }
let folder = URL(fileURLWithPath: arguments[2])

do {
    switch arguments[1] {
    case "crash": try await crash(at: folder, arguments: arguments)
    case "hold": try await hold(at: folder)
    case "merge": try await merge(at: folder)
    case "lock": try lock(arguments[2])
    default: exit(64)
    }
} catch let error as RepriseError {
    LineFile.output.append("error \(error.code)")
    exit(1)
}
