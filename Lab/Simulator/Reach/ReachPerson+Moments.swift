extension ReachPerson {
    /// Where the app is.
    enum AppState: Int, CaseIterable {
        case foreground, background, suspended, forceQuit
    }

    func state(at moment: Double) -> AppState {
        let next = uses.first(endingAfter: moment)
        if next < uses.count, uses[next].start <= moment { return .foreground }
        if forceQuits { return .forceQuit }
        return next > 0 && moment < uses[next - 1].end + background ? .background : .suspended
    }

    /// When there is a network, at this moment or later.
    func online(from moment: Double) -> Double {
        let next = outages.first(endingAfter: moment)
        guard next < outages.count, outages[next].start <= moment else { return moment }
        return outages[next].end
    }

    /// When the app is in the foreground and has a network; nil: not any more.
    func seen(from moment: Double) -> Double? {
        var moment = moment
        while let opened = opened(from: moment) {
            moment = online(from: opened)
            if moment == opened { return opened }
        }
        return nil
    }

    private func opened(from moment: Double) -> Double? {
        let next = uses.first(endingAfter: moment)
        return next < uses.count ? max(uses[next].start, moment) : nil
    }

    /// When the socket is there: code runs, in the foreground or in granted time, and there is a
    /// network.
    func connected(from moment: Double) -> Double? {
        var moment = moment
        while true {
            let runs: Double
            switch state(at: moment) {
            case .foreground, .background: runs = moment
            case .suspended, .forceQuit:
                guard let opened = opened(from: moment) else { return nil }
                runs = opened
            }
            moment = online(from: runs)
            if moment == runs { return runs }
        }
    }

    /// When a background refresh fetches something.
    func refreshed(from moment: Double) -> Double? {
        var index = refreshes.first(from: moment)
        while index < refreshes.count {
            if online(from: refreshes[index]) == refreshes[index] { return refreshes[index] }
            index += 1
        }
        return nil
    }
}
