import RepriseCore

extension Phone {
    /// Starts the phone again after ``powerOff()``, when so much time has passed that it was off.
    ///
    /// - Parameter time: how long it was off.
    /// - Throws: as ``powerOn()``; `.journalOwned` if it runs.
    package func powerOn(after time: Duration) async throws {
        let disk = try await takeDisk()
        do {
            if var content = try disk.read() {
                content.state.clock.calendarMilliseconds += time.milliseconds
                content.state.clock.uptimeMilliseconds += time.milliseconds
                try disk.write(content)
            }
        } catch {
            disk.release()
            throw error
        }
        disk.release()
        try await powerOn()
    }

    /// The disk, once the process that had it has gone.
    private func takeDisk() async throws -> PhoneDisk {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            do {
                return try PhoneDisk(folder)
            } catch let error as RepriseError where error.code == .journalOwned {
                guard ContinuousClock.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }
}
