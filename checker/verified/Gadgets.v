(* Lemmas behind the default construction, for all numbers: what a fold does, what stripping leaves, what a table
   returns. docs/how-it-works.md names each at the step that uses it. *)
From Coq Require Import ZArith QArith Qminmax Qpower List Lia Lqa Bool.
From Byheart Require Import Spec Dyadic Sound.
Import ListNotations.
Open Scope Q_scope.

Lemma relu_pos : forall x, 0 <= x -> relu x == x. Proof. intros. unfold relu. apply Q.max_r. assumption. Qed.
Lemma relu_neg : forall x, x <= 0 -> relu x == 0. Proof. intros. unfold relu. apply Q.max_l. assumption. Qed.

(* The block of a fold, as a layer of the format: one lane, one hidden unit, three parameters. *)
Definition fold_block (theta : dyadic) : layer :=
  FeedForward 1 [(dneg theta, [(0%nat, Dyadic 1 0)])] [(zero, [(0%nat, Dyadic (-1) 1)])].
Lemma fold_block_ok : forall theta N H c,
  step N (fold_block theta) H c 0%nat == H c 0%nat - 2 * relu (H c 0%nat - value theta).
Proof.
  intros. unfold step, fold_block, apply, weight, bias, entry. cbn [sum length nth snd fst sum_over fold_right Nat.eqb].
  assert (A : 0 + (value (Dyadic 1 0) + 0) * H c 0%nat + value (dneg theta) == H c 0%nat - value theta).
  { rewrite dneg_ok. change (value (Dyadic 1 0)) with 1. ring. }
  unfold relu. rewrite A. change (value zero) with 0. assert (B : value (Dyadic (-1) 1) == -(2)) by reflexivity. rewrite B. ring.
Qed.

(* "A threshold stores a number": the fold at (t - 1/2) S + e/2 reflects H and sends the payload P to e - P. *)
Theorem fold_stores : forall (H t : Z) (S P e : Q), 0 < S -> - S <= 2 * P - e <= S ->
  let v := inject_Z H * S + P in
  let theta := (inject_Z t - (1 # 2)) * S + (1 # 2) * e in
  v - 2 * relu (v - theta) == if (t <=? H)%Z then inject_Z (2 * t - 1 - H) * S + (e - P) else v.
Proof.
  intros H t S P e HS [L U] v theta. destruct (t <=? H)%Z eqn:E.
  - apply Z.leb_le in E. rewrite Zle_Qle in E.
    assert (0 <= (inject_Z H - inject_Z t) * S) by (apply Qmult_le_0_compat; lra).
    assert (R : relu (v - theta) == v - theta) by (apply relu_pos; unfold v, theta; lra). rewrite R. unfold v, theta. unfold Z.sub.
    rewrite !inject_Z_plus, inject_Z_mult, !inject_Z_opp. change (inject_Z 2) with 2. change (inject_Z 1) with 1. ring.
  - apply Z.leb_gt in E. assert (E' : (H + 1 <= t)%Z) by lia. rewrite Zle_Qle, inject_Z_plus in E'. change (inject_Z 1) with 1 in E'.
    assert (0 <= (inject_Z t - inject_Z H - 1) * S) by (apply Qmult_le_0_compat; lra).
    assert (R : relu (v - theta) == 0) by (apply relu_neg; unfold v, theta; lra). rewrite R. ring.
Qed.

(* Stripping: folds at 2^t, from the top down. What is left of bit j below is b_j xor b_t. *)
Definition g (t v : Z) : Z := if (2 ^ t <=? v)%Z then (2 ^ (t + 1) - 1 - v)%Z else v.
Theorem fold_is_g : forall t v, inject_Z v + (1 # 2) - 2 * relu (inject_Z v + (1 # 2) - inject_Z (2 ^ t)) == inject_Z (g t v) + (1 # 2) \/ (t < 0)%Z.
Proof.
  intros t v. destruct (Z_lt_le_dec t 0) as [N|N]; [right; assumption | left]. unfold g. destruct (2 ^ t <=? v)%Z eqn:E.
  - apply Z.leb_le in E. rewrite Zle_Qle in E. rewrite relu_pos by lra.
    rewrite Z.pow_add_r by lia. change (2 ^ 1)%Z with 2%Z. unfold Z.sub. rewrite !inject_Z_plus, !inject_Z_opp, inject_Z_mult.
    change (inject_Z 2) with 2. change (inject_Z 1) with 1. ring.
  - apply Z.leb_gt in E. assert (E' : (v + 1 <= 2 ^ t)%Z) by lia. rewrite Zle_Qle, inject_Z_plus in E'. change (inject_Z 1) with 1 in E'.
    rewrite relu_neg by lra. ring.
Qed.
Open Scope Z_scope.
Lemma top_bit : forall t v, 0 <= t -> 0 <= v < 2 ^ (t + 1) -> Z.testbit v t = (2 ^ t <=? v).
Proof.
  intros t v Ht Hv. rewrite Z.pow_add_r in Hv by lia. change (2 ^ 1) with 2 in Hv.
  assert (0 < 2 ^ t) by (apply Z.pow_pos_nonneg; lia).
  destruct (2 ^ t <=? v) eqn:E.
  - apply Z.leb_le in E. apply Z.testbit_true; [assumption|]. assert (v / 2 ^ t = 1) as -> by (symmetry; apply Z.div_unique with (r := v - 2 ^ t); lia). reflexivity.
  - apply Z.leb_gt in E. apply Z.testbit_false; [assumption|]. rewrite Z.div_small by lia. reflexivity.
Qed.
Lemma g_bits : forall t v, 0 <= t -> 0 <= v < 2 ^ (t + 1) ->
  0 <= g t v < 2 ^ t /\ forall j, 0 <= j < t -> Z.testbit (g t v) j = xorb (Z.testbit v j) (Z.testbit v t).
Proof.
  intros t v Ht Hv. rewrite (top_bit t v) by assumption. unfold g.
  assert (0 < 2 ^ t) by (apply Z.pow_pos_nonneg; lia).
  pose proof Hv as Hv'. rewrite Z.pow_add_r in Hv' by lia. change (2 ^ 1) with 2 in Hv'.
  destruct (2 ^ t <=? v) eqn:E.
  - apply Z.leb_le in E. split. { rewrite Z.pow_add_r by lia. change (2 ^ 1) with 2. lia. }
    intros j Hj. rewrite xorb_true_r.
    replace (2 ^ (t + 1) - 1 - v) with (2 ^ (t + 1) + Z.lnot v) by (unfold Z.lnot; lia).
    assert (M : (2 ^ (t + 1) + Z.lnot v) mod 2 ^ (t + 1) = Z.lnot v mod 2 ^ (t + 1)).
    { rewrite Z.add_comm, <- (Z.mul_1_l (2 ^ (t + 1))) at 1. apply Z.mod_add. apply Z.pow_nonzero; lia. }
    rewrite <- (Z.mod_pow2_bits_low _ (t + 1) j) by lia. rewrite M, Z.mod_pow2_bits_low by lia. apply Z.lnot_spec. lia.
  - apply Z.leb_gt in E. split; [lia|]. intros. rewrite xorb_false_r. reflexivity.
Qed.
Fixpoint strip (n : nat) (t v : Z) : Z := match n with O => v | S k => g t (strip k (t + 1) v) end.
Theorem strip_bits : forall n t v, 0 <= t -> 0 <= v < 2 ^ (t + Z.of_nat (S n)) ->
  0 <= strip (S n) t v < 2 ^ t
  /\ forall j, 0 <= j < t -> Z.testbit (strip (S n) t v) j = xorb (Z.testbit v j) (Z.testbit v t).
Proof.
  induction n; intros t v Ht Hv.
  - cbn [strip]. apply g_bits; [assumption|]. exact Hv.
  - destruct (IHn (t + 1) v) as [R B]. { lia. } { replace (t + 1 + Z.of_nat (S n)) with (t + Z.of_nat (S (S n))) by lia. assumption. }
    cbn [strip] in *. destruct (g_bits t (g (t + 1) (strip n (t + 1 + 1) v)) Ht) as [R' B']; [exact R|]. split; [exact R'|].
    intros j Hj. rewrite B' by assumption. rewrite !B by lia.
    destruct (Z.testbit v j), (Z.testbit v t), (Z.testbit v (t + 1)); reflexivity.
Qed.
Close Scope Z_scope.

(* A table: any numbers T 0 ... T n are the values of one broken line with their second differences as coefficients. *)
Definition nq (j : nat) : Q := inject_Z (Z.of_nat j).
Definition second (T : nat -> Q) (i : nat) : Q := T (S (S i)) - 2 * T (S i) + T i.
Definition line (T : nat -> Q) (n j : nat) : Q :=
  T 0%nat + (T 1%nat - T 0%nat) * nq j + sum n (fun i => second T i * relu (nq j - nq (S i))).
Lemma nq_S : forall j, nq (S j) == nq j + 1.
Proof. intro. unfold nq. rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite inject_Z_plus. reflexivity. Qed.
Lemma nq_le : forall i j, (i <= j)%nat -> nq i <= nq j.
Proof. intros. unfold nq. rewrite <- Zle_Qle. lia. Qed.
Lemma telescope : forall T j, sum j (second T) == T (S j) - T j - (T 1%nat - T 0%nat).
Proof. induction j; cbn [sum]. ring. rewrite IHj. unfold second. ring. Qed.
Lemma sum_cut : forall f n j, (j <= n)%nat -> (forall i, (j <= i)%nat -> f i == 0) -> sum n f == sum j f.
Proof.
  induction n; intros j L Z. { replace j with 0%nat by lia. reflexivity. }
  destruct (Nat.eq_dec j (S n)) as [->|]. { reflexivity. } cbn [sum]. rewrite (IHn j), (Z n) by (auto; lia). ring.
Qed.
Theorem table : forall T n j, (j <= S n)%nat -> line T n j == T j.
Proof.
  intros T n. induction j; intro L.
  - unfold line. rewrite sum_zero. { change (nq 0) with 0. ring. }
    intros. rewrite relu_neg. ring. pose proof (nq_le 0 i ltac:(lia)). rewrite nq_S. change (nq 0) with 0 in *. lra.
  - set (d := fun i => second T i * (relu (nq (S j) - nq (S i)) - relu (nq j - nq (S i)))).
    assert (C : sum n d == sum j (second T)).
    { transitivity (sum j d).
      + apply sum_cut; [lia|]. intros i Hi. unfold d. pose proof (nq_le j i Hi) as Q.
        assert (R1 : relu (nq (S j) - nq (S i)) == 0) by (apply relu_neg; rewrite !nq_S; lra).
        assert (R2 : relu (nq j - nq (S i)) == 0) by (apply relu_neg; rewrite !nq_S; lra). rewrite R1, R2. ring.
      + apply sum_ext. intros i Hi. unfold d. pose proof (nq_le (S i) j Hi) as Q.
        assert (R1 : relu (nq (S j) - nq (S i)) == nq (S j) - nq (S i)) by (apply relu_pos; rewrite (nq_S j); lra).
        assert (R2 : relu (nq j - nq (S i)) == nq j - nq (S i)) by (apply relu_pos; lra). rewrite R1, R2, (nq_S j). ring. }
    assert (A : line T n (S j) == line T n j + (T 1%nat - T 0%nat) + sum j (second T)).
    { rewrite <- C. unfold line.
      assert (E : sum n (fun i => second T i * relu (nq (S j) - nq (S i)))
                  == sum n (fun i => second T i * relu (nq j - nq (S i))) + sum n d).
      { rewrite <- sum_plus. apply sum_ext. intros. unfold d. ring. }
      rewrite E, nq_S. ring. }
    rewrite A, IHj by lia. rewrite telescope. ring.
Qed.
