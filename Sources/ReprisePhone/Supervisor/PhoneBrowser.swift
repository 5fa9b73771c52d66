import Foundation
import RepriseCore

/// The phone's browser, with the web views of all its apps; started at the first request.
///
/// One that has crashed is restarted at the next request.
actor PhoneBrowser {
    private var starting: Task<Chromium, any Error>?
    private var isEnded = false

    func address() async throws -> String {
        while !isEnded {
            let task = starting ?? Task { try await Chromium.start() }
            starting = task
            do {
                let chromium = try await task.value
                if kill(-chromium.group, 0) == 0 { return chromium.address }
                await chromium.end()
            } catch {
                if starting == task { starting = nil }
                throw error
            }
            if starting == task { starting = nil }
        }
        throw RepriseError(.unavailable, "The phone is being switched off.")
    }

    func end() async {
        isEnded = true
        let starting = self.starting
        self.starting = nil
        await (try? starting?.value)?.end()
    }
}
