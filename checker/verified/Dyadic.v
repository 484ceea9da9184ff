(* Arithmetic on dyadic numbers, and that it is exact. *)
From Coq Require Import ZArith QArith Qminmax Qround Qpower List Lia Lqa.
From Byheart Require Import Spec.
Import ListNotations.
Open Scope Q_scope.

Definition norm (d : dyadic) : dyadic :=
  let t := Z.log2 (Z.land (mantissa d) (- mantissa d)) in
  let m := Z.shiftr (mantissa d) t in
  if (0 <=? t)%Z && (Z.shiftl m t =? mantissa d)%Z then Dyadic m (exponent d + t) else d.
Definition dmul (a b : dyadic) : dyadic := Dyadic (mantissa a * mantissa b) (exponent a + exponent b).
Definition dadd (a b : dyadic) : dyadic :=
  if (mantissa a =? 0)%Z then b else if (mantissa b =? 0)%Z then a else
  if (exponent a <=? exponent b)%Z then Dyadic (mantissa a + Z.shiftl (mantissa b) (exponent b - exponent a)) (exponent a)
  else Dyadic (Z.shiftl (mantissa a) (exponent a - exponent b) + mantissa b) (exponent b).
Definition dneg (a : dyadic) : dyadic := Dyadic (- mantissa a) (exponent a).
Definition drelu (a : dyadic) : dyadic := if (mantissa a <=? 0)%Z then zero else a.
Definition deqb (a b : dyadic) : bool := (mantissa (dadd a (dneg b)) =? 0)%Z.
Definition dleb (a b : dyadic) : bool := (mantissa (dadd a (dneg b)) <=? 0)%Z.
Definition ddiv (a : dyadic) (n : Z) : option dyadic :=
  let k := (Z.log2 n + 1)%Z in
  let m := Z.shiftl (mantissa a) k in
  let q := (m / n)%Z in
  if (0 <? n)%Z && (0 <=? k)%Z && (q * n =? m)%Z then Some (norm (Dyadic q (exponent a - k))) else None.

Lemma two_nz : ~ 2 == 0. Proof. discriminate. Qed.
Lemma pow_pos : forall e, 0 < 2 ^ e. Proof. intro. apply Qpower_0_lt. reflexivity. Qed.
#[global] Hint Resolve two_nz pow_pos : core.

Lemma value_shiftl : forall m e k, (0 <= k)%Z -> inject_Z (Z.shiftl m k) * 2 ^ e == inject_Z m * 2 ^ (e + k).
Proof.
  intros. rewrite Z.shiftl_mul_pow2 by assumption.
  rewrite inject_Z_mult, Zpower_Qpower by assumption.
  rewrite Qpower_plus by auto. change (inject_Z 2) with 2. ring.
Qed.

Lemma norm_ok : forall d, value (norm d) == value d.
Proof.
  intros [m e]. unfold norm. cbn [mantissa exponent].
  destruct (_ && _)%bool eqn:E; [|reflexivity].
  apply andb_prop in E. destruct E as [E1 E2]. apply Z.leb_le in E1. apply Z.eqb_eq in E2.
  unfold value. cbn [mantissa exponent]. rewrite <- value_shiftl by assumption. rewrite E2. reflexivity.
Qed.

Lemma dmul_ok : forall a b, value (dmul a b) == value a * value b.
Proof.
  intros [m e] [n f]. unfold value, dmul. cbn [mantissa exponent].
  rewrite inject_Z_mult, Qpower_plus by auto. ring.
Qed.

Lemma value_man0 : forall a, mantissa a = 0%Z -> value a == 0.
Proof. intros [m e] H. cbn in H. subst. unfold value. cbn [mantissa exponent]. change (inject_Z 0) with 0. ring. Qed.

Lemma dadd_ok : forall a b, value (dadd a b) == value a + value b.
Proof.
  intros a b. unfold dadd.
  destruct (mantissa a =? 0)%Z eqn:Ea. { apply Z.eqb_eq in Ea. rewrite (value_man0 a Ea). ring. }
  destruct (mantissa b =? 0)%Z eqn:Eb. { apply Z.eqb_eq in Eb. rewrite (value_man0 b Eb). ring. }
  destruct a as [m e], b as [n f]. cbn [mantissa exponent]. clear Ea Eb.
  destruct (e <=? f)%Z eqn:E.
  - apply Z.leb_le in E. unfold value. cbn [mantissa exponent].
    rewrite inject_Z_plus, Qmult_plus_distr_l, value_shiftl by lia.
    replace (e + (f - e))%Z with f by lia. reflexivity.
  - apply Z.leb_gt in E. unfold value. cbn [mantissa exponent].
    rewrite inject_Z_plus, Qmult_plus_distr_l, value_shiftl by lia.
    replace (f + (e - f))%Z with e by lia. reflexivity.
Qed.

Lemma dneg_ok : forall a, value (dneg a) == - value a.
Proof. intros [m e]. unfold value, dneg. cbn [mantissa exponent]. rewrite inject_Z_opp. ring. Qed.

Lemma value_le0 : forall a, (mantissa a <=? 0)%Z = true <-> value a <= 0.
Proof.
  intros [m e]. unfold value. cbn [mantissa exponent]. rewrite Z.leb_le. pose proof (pow_pos e) as P. split; intro H.
  - assert (inject_Z m <= 0) by (change 0 with (inject_Z 0); rewrite <- Zle_Qle; assumption). nra.
  - rewrite Zle_Qle. change (inject_Z 0) with 0.
    apply Qmult_le_r with (z := 2 ^ e); [assumption|]. rewrite Qmult_0_l. assumption.
Qed.

Lemma drelu_ok : forall a, value (drelu a) == relu (value a).
Proof.
  intro a. unfold drelu, relu. destruct (mantissa a <=? 0)%Z eqn:E.
  - apply value_le0 in E. rewrite Q.max_l by assumption. reflexivity.
  - destruct (Qlt_le_dec 0 (value a)) as [L|L]. { rewrite Q.max_r by (apply Qlt_le_weak; assumption). reflexivity. }
    apply value_le0 in L. congruence.
Qed.

Lemma deqb_ok : forall a b, deqb a b = true -> value a == value b.
Proof.
  intros a b H. apply Z.eqb_eq in H. apply value_man0 in H. rewrite dadd_ok, dneg_ok in H. lra.
Qed.

Lemma dleb_ok : forall a b, dleb a b = Qle_bool (value a) (value b).
Proof.
  intros. unfold dleb. apply Bool.eq_true_iff_eq. rewrite value_le0, dadd_ok, dneg_ok, Qle_bool_iff. lra.
Qed.

Lemma ddiv_ok : forall a n d, ddiv a n = Some d -> value d == value a / inject_Z n /\ (0 < n)%Z.
Proof.
  intros [m e] n d. unfold ddiv. cbn [mantissa exponent]. set (k := (Z.log2 n + 1)%Z). set (q := (Z.shiftl m k / n)%Z).
  destruct (_ && _ && _)%bool eqn:E; [|discriminate]. intro H. injection H as <-.
  apply andb_prop in E. destruct E as [E E3]. apply andb_prop in E. destruct E as [E1 E2].
  apply Z.ltb_lt in E1. apply Z.leb_le in E2. apply Z.eqb_eq in E3. split; [|assumption].
  rewrite norm_ok. unfold value. cbn [mantissa exponent].
  assert (N : ~ inject_Z n == 0). { change 0 with (inject_Z 0). rewrite inject_Z_injective. lia. }
  assert (A : inject_Z m * 2 ^ e == inject_Z q * inject_Z n * 2 ^ (e - k)).
  { rewrite <- inject_Z_mult, E3, value_shiftl by assumption. replace (e - k + k)%Z with e by lia. reflexivity. }
  rewrite A. field. assumption.
Qed.
