package v1beta1

// RollingStyle is the style that the user declared; Partition while no strategy is given.
func (s *RolloutStrategy) RollingStyle() RollingStyleType {
	switch {
	case s.BlueGreen != nil:
		return BlueGreenRollingStyle
	case s.Canary != nil && s.Canary.EnableExtraWorkloadForCanary:
		return CanaryRollingStyle
	default:
		return PartitionRollingStyle
	}
}

// Steps are the steps of whichever strategy is given.
func (s *RolloutStrategy) Steps() []CanaryStep {
	switch {
	case s.BlueGreen != nil:
		return s.BlueGreen.Steps
	case s.Canary != nil:
		return s.Canary.Steps
	default:
		return nil
	}
}

// TrafficRoutings are the traffic routings of whichever strategy is given.
func (s *RolloutStrategy) TrafficRoutings() []TrafficRoutingRef {
	switch {
	case s.BlueGreen != nil:
		return s.BlueGreen.TrafficRoutings
	case s.Canary != nil:
		return s.Canary.TrafficRoutings
	default:
		return nil
	}
}

// TrafficRoutingRef is the trafficRoutingRef of whichever strategy is given.
func (s *RolloutStrategy) TrafficRoutingRef() string {
	switch {
	case s.BlueGreen != nil:
		return s.BlueGreen.TrafficRoutingRef
	case s.Canary != nil:
		return s.Canary.TrafficRoutingRef
	default:
		return ""
	}
}

// DisableGenerateCanaryService is that of whichever strategy is given.
func (s *RolloutStrategy) DisableGenerateCanaryService() bool {
	switch {
	case s.BlueGreen != nil:
		return s.BlueGreen.DisableGenerateCanaryService
	case s.Canary != nil:
		return s.Canary.DisableGenerateCanaryService
	default:
		return false
	}
}

// Style is the rolling style that the user declared.
func (r *Rollout) Style() RollingStyleType { return r.Spec.Strategy.RollingStyle() }

// EffectiveStyle is the style that is run: only a Deployment of apps/v1 can have an extra Deployment,
// everything else that asks for one is released in place.
func (r *Rollout) EffectiveStyle() RollingStyleType {
	deployment := ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: r.Spec.WorkloadRef.Name}
	if style := r.Style(); style != CanaryRollingStyle || r.Spec.WorkloadRef == deployment {
		return style
	}
	return PartitionRollingStyle
}

// Common is what canaryStatus and blueGreenStatus share, of the one that is there; nil if none is.
// What it points to belongs to the status.
func (s *RolloutStatus) Common() *CommonStatus {
	switch {
	case s.CanaryStatus != nil:
		return &s.CanaryStatus.CommonStatus
	case s.BlueGreenStatus != nil:
		return &s.BlueGreenStatus.CommonStatus
	default:
		return nil
	}
}

// Revision is the revision that is being released, "" if there is none.
func (s *RolloutStatus) Revision() string {
	switch {
	case s.CanaryStatus != nil:
		return s.CanaryStatus.CanaryRevision
	case s.BlueGreenStatus != nil:
		return s.BlueGreenStatus.UpdatedRevision
	default:
		return ""
	}
}
